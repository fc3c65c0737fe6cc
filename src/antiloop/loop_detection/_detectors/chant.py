"""A stretch of text that repeats without end, inside one reply."""

from typing import TYPE_CHECKING, Optional, Sequence, Tuple

from ..._checks import check_threshold
from ..._latest import Latest
from ..._process_lock import ProcessLock
from ..._text.masking import SECRETS, Masking
from ...stability import beta
from .._detection import LoopDetection
from .._evidence.fingerprint import text_fingerprint
from .text_detector import TextDetector, TextWatch, text_detection

if TYPE_CHECKING:
    from ..._text.chant_scan import Chant, ChantScan

Options = Tuple[int, int]
"""The options of a detector."""


class KnownTexts:
    """Complete texts without a finding, and how often the latest stretch of each came.

    Without them, a conversation that is read again with each request would be scanned each time.
    One object serves all runs of a process; the texts themselves are not kept.

    Args:
        size: how many texts are remembered.
    """

    def __init__(self, size: int) -> None:
        self._lock = ProcessLock()
        self._laps: Latest[Tuple[Options, str], Optional[int]] = Latest(size)

    def get(self, text: str, options: Options) -> Sequence[Optional[int]]:
        """Return what is known of a text with these options, as the only item if anything."""
        key = (options, text_fingerprint(text))
        with self._lock:
            return (self._laps[key],) if key in self._laps else ()

    def note(self, text: str, options: Options, laps: Optional[int]) -> None:
        """Remember a text."""
        key = (options, text_fingerprint(text))
        with self._lock:
            self._laps[key] = laps


_HEALTHY = KnownTexts(2_000)


@beta
class ChantDetector(TextDetector):
    """Find a stretch of one text that repeats without end, while the text arrives.

    A model that begins to repeat itself goes on until it runs out of tokens. Only words of
    sentences count; code, tables, lists, lines of dashes and JSON are ignored. The text is read
    once; memory and the cost of a word do not depend on its length. A stretch has at most 400
    words and punctuation marks.

    Args:
        repetitions: how often a stretch must come, 3 or more.
        length: characters that the repetitions must have without spaces, 100 or more; four times
            as many if the stretch has fewer than three different words.

    Raises:
        ValueError: if repetitions or length is too low.

    >>> ChantDetector().check_replies(["I will look again. " * 200]).message
    'One text of the model repeats itself 27 times: "I will look again."'
    """

    name = "chant"
    reads_thoughts = True

    def __init__(self, repetitions: int = 6, length: int = 400) -> None:
        check_threshold("repetitions", repetitions, 3)
        check_threshold("length", length, 100)
        self.repetitions = repetitions
        self.length = length

    @property
    def needed(self) -> Tuple[str, int]:
        """Name and value of the option that sets the threshold."""
        return "repetitions", self.repetitions

    def watch(self, masking: Masking = SECRETS) -> TextWatch:
        """Begin to watch a run; `masking` hides what must not be shown of its words."""
        return _Text(self, masking)


class _Text(TextWatch):
    """The text that is arriving.

    Snapshots do not contain it: the stream of a model does not continue in another process, and a
    text may hold secrets.
    """

    def __init__(self, detector: ChantDetector, masking: Masking) -> None:
        self._detector = detector
        self._masking = masking
        self._scan: Optional[ChantScan] = None
        self._laps: Optional[int] = None

    @property
    def count(self) -> Optional[int]:
        return self._laps

    def saying(self, piece: str) -> Optional[LoopDetection]:
        if not piece:
            return None  # a scan would take the whole text for its end
        if self._scan is None:
            self._scan = self._new_scan()
        return self._found(self._scan, self._scan.add(piece))

    def said(self, text: str) -> Optional[LoopDetection]:
        if self._scan is not None:
            # Its pieces were read as they came, so only the end is left to read.
            scan, self._scan = self._scan, None
            return self._found(scan, scan.end())
        if len(text) <= self._detector.length:
            self._laps = None
            return None  # too short to repeat anything for long enough, as most replies are
        options = (self._detector.repetitions, self._detector.length)
        known = _HEALTHY.get(text, options)
        if known:  # the text belongs to a conversation that is read again
            self._laps = known[0]
            return None
        return self._read(text, options)

    def _read(self, text: str, options: Options) -> Optional[LoopDetection]:
        scan = self._new_scan()
        found = self._found(scan, scan.add(text)) or self._found(scan, scan.end())
        if found is None:
            _HEALTHY.note(text, options, scan.laps)
        return found

    def moved(self) -> None:
        self._scan = None

    def _new_scan(self) -> "ChantScan":
        # Imported here: its patterns take long to compile, and most runs only call tools.
        from ..._text.chant_scan import ChantScan

        return ChantScan(self._detector.repetitions, self._detector.length)

    def _found(self, scan: "ChantScan", chant: "Optional[Chant]") -> Optional[LoopDetection]:
        self._laps = scan.laps
        if chant is None:
            return None
        message = f"One text of the model repeats itself {chant.laps} times"
        key = " ".join(map(str, chant.key))
        return text_detection(
            self._detector.name, message, chant.text, chant.laps, key, self._masking
        )
