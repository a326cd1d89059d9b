"""What the installed distribution advertises."""

import re
from importlib.metadata import entry_points, requires, version

import strideweave as sw

import strideweave_opencl


def test_the_carrier_is_found_without_importing_it() -> None:
    (advertised,) = [one for one in sw.carriers.installed() if one.name == "OpenCLBuffer"]
    assert advertised.target == "strideweave_opencl:OpenCLBuffer"
    assert advertised.distribution == "strideweave-opencl"
    assert advertised.version == version("strideweave-opencl")


def test_the_entry_point_is_the_class() -> None:
    (point,) = entry_points(group="strideweave.carriers", name="OpenCLBuffer")
    assert point.load() is strideweave_opencl.OpenCLBuffer


def test_it_depends_on_the_layers_that_it_names() -> None:
    needed = [
        re.split(r"[^\w-]", requirement)[0] for requirement in requires("strideweave-opencl") or ()
    ]
    assert {"strideweave-core", "strideweave-compute", "pyopencl", "numpy"} <= set(needed)
