import pytest

from data.publish.licences import hub_licence, licence_text, licences_of, normalised
from schemas.base import SourceRef
from schemas.errors import WrongInput


def refs(**stated: str | None) -> list[SourceRef]:
    return [SourceRef(source=f"{name}.jsonl", id="1", licence=licence) for name, licence in stated.items()]


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("CC BY-SA 4.0", "CC-BY-SA-4.0"),
        ("cc-by-sa-4.0", "CC-BY-SA-4.0"),
        ("Apache License, Version 2.0", "Apache License, Version 2.0"),  # the comma: near, but not the same words
        ("Apache License 2.0", "Apache-2.0"),
        ("apache 2.0", "Apache-2.0"),
        ("GPL v3.0", "GPL-3.0"),
        ("BSD-3-Clause", "BSD-3-Clause"),
        ("MIT license", "MIT"),
        ("CDLA-Sharing-1.0", "CDLA-Sharing-1.0"),
        ("Public domain", "public domain"),
        ("CC BY-SA", "CC BY-SA"),  # of which version nobody said
        ("SQuAD 2.0 data CC BY-SA 4.0 (carrier repo: MIT)", "SQuAD 2.0 data CC BY-SA 4.0 (carrier repo: MIT)"),
    ],
)
def test_a_licence_is_written_as_spdx_does_only_where_that_is_obvious(stated: str, written: str) -> None:
    assert normalised(stated) == written


def test_one_licence_in_several_spellings_is_one() -> None:
    assert licences_of({"a": refs(one="CC BY-SA 4.0", two="CC-BY-SA-4.0")}) == {"a": "CC-BY-SA-4.0"}


def test_public_domain_beside_a_licence_leaves_the_licence() -> None:
    assert licences_of({"a": refs(book="public domain", facts="CC0 1.0", questions="MIT")}) == {"a": "MIT"}
    assert licences_of({"a": refs(book="public domain", facts="CC0 1.0")}) == {"a": "CC0-1.0"}


def test_configurations_have_a_licence_each() -> None:
    assert licences_of({"a": refs(one="MIT"), "b": refs(two="CC BY 4.0")}) == {"a": "MIT", "b": "CC-BY-4.0"}


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        (refs(one="MIT", two="Apache-2.0"), "one.jsonl (MIT), two.jsonl (Apache-2.0)"),
        (refs(one="CC BY-SA 3.0", two="CC BY-SA 4.0"), "one.jsonl (CC-BY-SA-3.0), two.jsonl (CC-BY-SA-4.0)"),
        (refs(one="MIT", two=None), "one.jsonl (MIT), two.jsonl (none stated)"),
        (refs(one=" "), "one.jsonl (none stated)"),
        ([], "it has no sources"),
        (refs(one="CC0-1.0", two=None), "one.jsonl (CC0-1.0), two.jsonl (none stated)"),
    ],
)
def test_what_does_not_give_one_licence_is_refused_and_named(sources: list[SourceRef], told: str) -> None:
    with pytest.raises(WrongInput) as refused:
        licences_of({"reeval-category1": sources})
    message = str(refused.value)
    assert told in message
    assert "release: {licence: {reeval-category1: ...}}" in message
    assert "\n" not in message


def test_a_declared_licence_counts_for_all_or_for_the_one_it_names() -> None:
    mixed = refs(one="MIT", two=None)
    assert licences_of({"a": mixed, "b": mixed}, "cc by 4.0") == {"a": "CC-BY-4.0", "b": "CC-BY-4.0"}
    assert licences_of({"a": mixed, "b": refs(one="MIT")}, {"a": "My own terms"}) == {"a": "My own terms", "b": "MIT"}
    with pytest.raises(WrongInput, match='did you mean "uraq-items"'):
        licences_of({"uraq-items": mixed}, {"uraq-item": "MIT"})


def test_a_hostile_name_of_a_source_stays_on_one_line_and_short() -> None:
    source = SourceRef(source="<script>\n" * 10_000, id="1")
    with pytest.raises(WrongInput) as refused:
        licences_of({"a": [source]})
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_the_hub_has_names_of_its_own() -> None:
    assert hub_licence("CC-BY-SA-4.0") == "cc-by-sa-4.0"
    assert hub_licence("CDLA-Sharing-1.0") == "cdla-sharing-1.0"
    assert hub_licence("public domain") == hub_licence("My own terms") == "other"


def test_all_configurations_without_a_licence_are_named_at_once() -> None:
    with pytest.raises(WrongInput) as refused:
        licences_of({"a": refs(one="MIT", two=None), "b": refs(one="MIT"), "c": []})
    assert [line.partition(":")[0] for line in str(refused.value).splitlines()] == ["a", "c"]
    with pytest.raises(WrongInput) as refused:
        licences_of({"a": refs(one="MIT")}, {"b": "MIT", "c": "MIT"})
    assert [line.partition(";")[0] for line in str(refused.value).splitlines()] == [
        "release.licence.b: there is no such configuration", "release.licence.c: there is no such configuration",
    ]  # fmt: skip


def test_the_text_of_a_licence_is_linked_if_the_licence_is_known() -> None:
    assert licence_text("CC BY-SA 4.0") == "https://creativecommons.org/licenses/by-sa/4.0/"
    assert licence_text("Apache-2.0") == "https://spdx.org/licenses/Apache-2.0.html"
    assert licence_text("ODbL") == "https://spdx.org/licenses/ODbL-1.0.html"
    assert licence_text("public domain") is None
    assert licence_text("my own") is None
