"""The example on the first page, run as it stands."""

import doctest
import re
from pathlib import Path

INTRO = Path(__file__).resolve().parents[1] / "book" / "intro.md"


def test_the_example_of_the_introduction_gives_what_it_shows():
    (session,) = re.findall(r"```python\n(>>> .*?)```", INTRO.read_text(encoding="utf-8"), re.DOTALL)
    example = doctest.DocTestParser().get_doctest(session, {}, "intro", str(INTRO), 0)
    outcome = doctest.DocTestRunner(verbose=False).run(example)
    assert outcome.attempted >= 5
    assert outcome.failed == 0
