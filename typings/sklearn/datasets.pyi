from numpy import float64, int64
from numpy.typing import NDArray

def load_digits(*, return_X_y: bool) -> tuple[NDArray[float64], NDArray[int64]]: ...
