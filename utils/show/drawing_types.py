"""Name the types of matplotlib and numpy for annotations. At run time, each name is `Any`, so nothing is imported."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike
else:
    ArrayLike = Axes = AxesImage = Figure = Any
