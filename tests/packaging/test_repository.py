"""What no file of the repository may contain."""

import re
import subprocess
from pathlib import Path

HOSTS = ("py" + "pi.org", "python" + "hosted", "deb." + "debian", "registry." + "npmjs")
MACHINE_FOLDERS = ("work", "root", "home", "farm", "tmp")
FORBIDDEN = re.compile(
    "|".join([*map(re.escape, HOSTS), rf"(?<![\w.~>])/(?:{'|'.join(MACHINE_FOLDERS)})/\w"])
)


def test_no_file_names_a_registry_host_or_a_machine_path(root: Path) -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    names = [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]
    assert "pyproject.toml" in names
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in names
        for number, line in enumerate((root / name).read_text().splitlines(), start=1)
        if FORBIDDEN.search(line)
    ]
    assert found == []
