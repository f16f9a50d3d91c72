"""Prompts: rendering, templates of the user's own, and reading what models write."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.llm.model import (
    Invalid,
    Prompt,
    Text,
    first_json_object,
    require_plain_text,
    with_templates,
)
from flows.llm.template import PromptTemplateError
from schemas.base import Frozen


class Asked(Frozen):
    topic: str
    facts: tuple[str, ...] = ()


class Answer(Frozen):
    answer: str
    count: int


def prompt_of(folder: Path, text: str) -> Prompt[Answer]:
    (folder / "ask.j2").write_text(text, encoding="utf-8")
    return Prompt("ask", 1, Answer, folder, inputs=Asked)


GOOD = """{% block system %}Be brief.{% endblock %}
{% block user %}
On {{ topic }}:
{% for f in facts %}
- {{ f }}
{% endfor %}
{% endblock %}"""


def test_a_prompt_renders_its_blocks(tmp_path: Path) -> None:
    assert prompt_of(tmp_path, GOOD).messages(Asked(topic="<tea>", facts=("hot", "wet"))) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "On <tea>:\n- hot\n- wet"},
    ]


def test_a_template_of_the_users_own_replaces_ours_where_there_is_one(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs, theirs / "uraq"):
        folder.mkdir()
    prompt = prompt_of(ours, GOOD)
    assert with_templates(prompt, theirs, "uraq") is prompt
    prompt_of(theirs, "{% block user %}All: {{ topic }}{% endblock %}")
    for_all = with_templates(prompt, theirs, "uraq")
    assert for_all.messages(Asked(topic="tea"))[0]["content"] == "All: tea"
    assert for_all.fingerprint != prompt.fingerprint
    prompt_of(theirs / "uraq", "{% block user %}URAQ: {{ topic }}{% endblock %}")
    assert with_templates(prompt, theirs, "uraq").messages(Asked(topic="tea"))[0]["content"] == "URAQ: tea"
    assert with_templates(prompt, theirs, "reeval").fingerprint == for_all.fingerprint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "{% block user %}{{ subject }}{% endblock %}",
            "unknown variable subject; this prompt offers facts, topic",
        ),
        ("{% block user %}\n{{ topic }{% endblock %}", "line 2: unexpected '}'"),
        ("{{ topic }}", "no user block"),
        ("{% block user %}{% include 'x.j2' %}{% endblock %}", "include, import and extends are not offered"),
    ],
)
def test_a_wrong_template_is_one_line_that_names_the_file(tmp_path: Path, text: str, said: str) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    prompt = prompt_of(tmp_path, GOOD)
    prompt_of(theirs, text)
    with pytest.raises(PromptTemplateError) as raised:
        with_templates(prompt, theirs, "uraq")
    assert str(raised.value).startswith(f"{theirs / 'ask.j2'}: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_loops_and_functions_of_the_template_language_are_no_unknown_variables(tmp_path: Path) -> None:
    text = "{% block user %}{% for n in range(2) %}{{ loop.index }}{{ facts[n] }}{% endfor %}{% endblock %}"
    prompt_of(tmp_path, text).check_template()


def test_a_fault_that_shows_only_in_rendering_names_the_file_too(tmp_path: Path) -> None:
    prompt = prompt_of(tmp_path, "{% block user %}{{ topic.colour }}{% endblock %}")
    with pytest.raises(PromptTemplateError, match=r"ask\.j2: .*colour"):
        prompt.messages(Asked(topic="tea"))


UNSAFE = "access to attribute '{}' of '{}' object is unsafe."
ENDLESS = "powers, and texts or lists times a number, are not offered"
ATTACKS = [
    ("{{ ''.__class__.__mro__ }}", UNSAFE.format("__class__", "str")),
    ("{{ topic.__class__.__base__.__subclasses__() }}", UNSAFE.format("__class__", "str")),
    ("{{ '{0.__class__}'.format(topic) }}", UNSAFE.format("__class__", "str")),
    ("{{ self.__init__.__globals__ }}", UNSAFE.format("__init__", "TemplateReference")),
    ("{{ cycler.__init__.__globals__.os.system('x') }}", UNSAFE.format("__init__", "type")),
    ("{% set names = [topic] %}{{ names.append(topic) }}", UNSAFE.format("append", "list")),
    ("{% for n in range(1000000000) %}{{ n }}{% endfor %}", "Range too big."),
    ("{{ 9 ** 9 ** 9 ** 9 }}", ENDLESS),
    ("{{ topic * 1000000000000 }}", ENDLESS),
    ("{{ [0] * 1000000000000 }}", ENDLESS),
    ("{{ 1 / 0 }}", "division by zero"),
    ("{{ topic + 1 }}", "can only concatenate str"),
    ("{{ topic[0:1:0] }}", "slice step cannot be zero"),
]


@pytest.mark.parametrize(("attack", "said"), ATTACKS)
def test_a_template_reaches_nothing_but_its_values(tmp_path: Path, attack: str, said: str) -> None:
    prompt = prompt_of(tmp_path, f"{{% block user %}}\n{attack}{{% endblock %}}")
    prompt.check_template()
    with pytest.raises(PromptTemplateError) as raised:
        prompt.messages(Asked(topic="tea"))
    assert str(raised.value).startswith(f"{tmp_path / 'ask.j2'}: line 2: {said}")
    assert "\n" not in str(raised.value)


def test_numbers_are_multiplied_in_a_template(tmp_path: Path) -> None:
    prompt = prompt_of(tmp_path, "{% block user %}{{ 2 * 3 }} {{ 'tea' ~ topic }}{% endblock %}")
    assert prompt.messages(Asked(topic="pot"))[0]["content"] == "6 teapot"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(), JSON, max_size=3),
    st.sampled_from(["", "Here {you} are: ", "```json\n", '<think>{"a": 1}</think>']),
)
def test_an_object_is_found_in_what_models_wrap_it_in(value: dict[str, object], before: str) -> None:
    assert first_json_object(f"{before}{json.dumps(value)}\n``` That is {{all}}.") == value


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "no object",
        "[1, 2]",
        '{"outer": [{"answer": "inner", "count": 1}, {"ans',  # broken off: the inner object is not the answer
        '{"a": ' + "[" * 100_000,
        '{"a": ' + "1" * 10_000 + "}",
        '{"' * 50_000,
    ],
)
def test_what_is_no_object_is_invalid(answer: str) -> None:
    with pytest.raises(Invalid, match="answer is not JSON"):
        first_json_object(answer)


def test_faults_of_the_form_are_named_for_the_model(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as raised:
        prompt_of(tmp_path, GOOD).parse(Asked(topic="t"), '{"answer": 1, "cuont": 2}')
    assert raised.value.reason == "answer of the wrong form"
    assert raised.value.detail == ("answer: Input should be a valid string; count: Field required")


def test_text_is_read_as_it_stands_but_not_when_there_is_none(tmp_path: Path) -> None:
    prompt = Prompt("ask", 1, Text, tmp_path)
    assert prompt.parse(Asked(topic="t"), " {x} ") == Text(text=" {x} ")
    assert prompt.parse(Asked(topic="t"), "half of", cut_off=True) == Text(text="half of", cut_off=True)
    with pytest.raises(Invalid, match="empty answer"):
        prompt.parse(Asked(topic="t"), " \n")
    with pytest.raises(Invalid, match="empty answer"):
        prompt.parse(Asked(topic="t"), "\u200b\u2060 ")


def test_half_a_character_is_an_invalid_answer() -> None:
    with pytest.raises(Invalid, match="answer is not text"):
        first_json_object('{"answer": "Zan\\ud800"}')


class Nested(Frozen):
    steps: tuple[dict[str, str], ...]


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("two lines\nof text", True),
        ("a family \U0001f468\u200d\U0001f469", True),
        ("red\x1b[31m", False),
        ("\u202eback", False),
    ],
)
def test_control_and_format_characters_are_no_text(text: str, passes: bool) -> None:
    for output in (Text(text=text), Nested(steps=({"said": text},))):
        if passes:
            require_plain_text(None, output)
        else:
            with pytest.raises(Invalid, match="a character that is no text"):
                require_plain_text(None, output)
