"""Where the names of the extension contract are found."""

import pytest

import strideweave
from strideweave.carriers import extension

MODULE_NAMES = {
    "CarrierDefinition",
    "StorageProvider",
    "KernelProvider",
    "TransferProvider",
    "TransferRoute",
    "CompositeProvider",
    "CarrierFacet",
    "KernelExecutionInterface",
    "KernelPack",
    "KernelPattern",
    "Unsupported",
    "PreparedKernel",
    "PreparedTransfer",
    "PreparedComposite",
    "ProviderResult",
    "ProviderCompletion",
    "TransferRequest",
    "register_carrier_definition",
    "register_kernel_pack",
}
TOP_LEVEL_NAMES = {
    "CarrierDefinition",
    "StorageProvider",
    "KernelProvider",
    "TransferRoute",
    "CompositeProvider",
    "CarrierFacet",
    "KernelExecutionInterface",
    "KernelPack",
    "KernelPattern",
    "Unsupported",
    "register_carrier_definition",
    "register_kernel_pack",
}


@pytest.mark.rule("R-1")
def test_the_module_exports_the_names_of_the_contract() -> None:
    assert len(MODULE_NAMES) == 19
    assert set(extension.__all__) == MODULE_NAMES | {"reference_pattern"}
    assert all(hasattr(extension, name) for name in extension.__all__)


@pytest.mark.rule("R-2", "R-3")
def test_import_a_carrier_authoring_surface() -> None:
    for name in TOP_LEVEL_NAMES:
        assert getattr(strideweave, name) is getattr(extension, name)
    for name in MODULE_NAMES - TOP_LEVEL_NAMES:
        assert name not in strideweave.__all__
