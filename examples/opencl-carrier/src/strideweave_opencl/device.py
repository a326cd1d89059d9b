"""Choosing an OpenCL device whose arithmetic is the one the operations are defined with."""

import pyopencl as cl

_REQUIRED = {
    "denormals": cl.device_fp_config.DENORM,
    "infinities and NaNs": cl.device_fp_config.INF_NAN,
    "rounding to nearest": cl.device_fp_config.ROUND_TO_NEAREST,
    "correctly rounded division and roots": cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT,
}


def missing_arithmetic(single_fp_config: int, double_fp_config: int) -> list[str]:
    """Name what a device lacks for results that are equal on every carrier.

    Args:
        single_fp_config: The device's ``CL_DEVICE_SINGLE_FP_CONFIG`` bits.
        double_fp_config: Its ``CL_DEVICE_DOUBLE_FP_CONFIG`` bits, 0 without binary64.
    """
    missing = [name for name, bit in _REQUIRED.items() if not single_fp_config & bit]
    return missing if double_fp_config else [*missing, "binary64"]


def open_context() -> cl.Context:
    """Make a context of one device: that of ``PYOPENCL_CTX``, or the first there is.

    Raises:
        RuntimeError: There is no OpenCL device, or it lacks arithmetic that results need.
    """
    try:
        context = cl.create_some_context(interactive=False)
    except (cl.Error, RuntimeError) as error:
        raise RuntimeError(
            "strideweave_opencl found no OpenCL device, or not the one that PYOPENCL_CTX names; "
            "install a driver, or strideweave-opencl[pocl] for one that runs on the CPU"
        ) from error
    device = context.devices[0]
    missing = missing_arithmetic(device.single_fp_config, device.double_fp_config)
    if missing:
        raise RuntimeError(
            f"strideweave_opencl cannot use {device.name.strip()!r}, which lacks "
            f"{', '.join(missing)}; name another device in PYOPENCL_CTX"
        )
    return cl.Context([device])
