"""What the site shows teachers and students beside the chapters: goals, needs, and three questions a Learn chapter."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import teaching  # noqa: E402

ENTRIES = yaml.safe_load(teaching.QUESTIONS.read_text(encoding="utf-8"))
LEARN = list(teaching.learn())


@pytest.mark.parametrize("path", LEARN, ids=lambda path: path.stem)
def test_each_learn_chapter_has_goals_and_three_questions(path):
    entry = ENTRIES[path.stem]
    assert entry["goals"]
    assert len(entry["questions"]) == 3
    for question in entry["questions"]:
        assert question.keys() == {"ask", "choices", "why"}
        assert 2 <= len(set(question["choices"])) == len(question["choices"]) <= 4
        assert question["ask"].endswith("?")
        assert all(text[-1] in ".?" or text.isdigit() for text in [*question["choices"], question["why"]])


@pytest.mark.parametrize("path", LEARN, ids=lambda path: path.stem)
def test_the_questions_come_before_the_exercises(path):
    source = [path.read_text(encoding="utf-8")]
    teaching.add_questions(None, f"notebooks/{path.stem}", source)
    text = "\n".join("".join(cell["source"]) for cell in json.loads(source[0])["cells"])
    assert text.count("{dropdown} Answer") == 3
    assert text.index("## Check yourself") < text.index("## Exercises")
    # Nothing else is changed.
    entry = ENTRIES[path.stem]
    before = [
        "".join(cell["source"]).replace(teaching.check_yourself(path.stem, entry) + "\n", "")
        for cell in json.loads(source[0])["cells"]
    ]
    assert before == ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_the_answer_is_the_first_choice_wherever_it_is_sorted():
    for slug, entry in ENTRIES.items():
        shown = teaching.check_yourself(slug, entry)
        given = re.findall(r"^\*\*([a-d])\.\*\* ", shown, re.MULTILINE)
        for letter, question in zip(given, entry["questions"], strict=True):
            assert f"- **{letter}.** {question['choices'][0]}\n" in shown
    letters = [
        x
        for slug, entry in ENTRIES.items()
        for x in re.findall(r"^\*\*([a-d])\.", teaching.check_yourself(slug, entry), re.M)
    ]
    assert min(map(letters.count, "abc")) > len(letters) / 6


def test_other_pages_stay_as_they_are():
    source = ["no JSON"]
    teaching.add_questions(None, "book/intro", source)
    assert source == ["no JSON"]


def test_the_instructors_page_names_every_set_and_learn_chapter():
    page = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    assert "```{teaching-sets}" in page
    assert "```{teaching-chapters}" in page
    listed = set(re.findall(r"\{doc\}`../notebooks/(\w+)`", page))
    assert listed <= {path.stem for path in LEARN}
    assert set(re.findall(r"(?:^ *|`)make ([\w-]+)", page, re.M)) <= set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    )
