"""A plug-in of Lockstep: where its data files lie.

Keep this module small. It is imported at every `lockstep check`.
"""

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
CODES: Final = _HERE / "codes.yaml"
ACCELERATORS: Final = _HERE / "accelerators.yaml"
MODELS: Final = _HERE / "models.yaml"
