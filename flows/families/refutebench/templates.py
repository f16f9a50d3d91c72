"""Version 1.0's template refuter (Yan, Luo and Zhang, 2024), the baseline beside version 2.0's agent."""

import random
from collections.abc import Mapping, Sequence

from flows.construct.engine import Drop
from flows.families.refutebench.requirements import Requirement, goes_with, of_style, parse_all
from flows.language import en
from schemas.refutebench import Focus, SeedTask


def refute(
    seed_text: str,
    task: SeedTask,
    response: str,
    earlier: Sequence[str],
    lexicon: Mapping[str, Sequence[str]],
    rng: random.Random,
    standing: bool,
) -> tuple[str, Focus]:
    """A formulaic refutation of `response`, and what it is about.

    Of a translation: another translation of a word of the source sentence, by the lexicon (base forms in lower case to
    translations). Of anything else: one of the checkable requirements that the response does not meet. Raises `Drop`:
    "no word of the table", "no translation left" (the sentence's words are used up, or the response has every
    translation of them), "no requirement left".
    """
    before = parse_all(earlier)
    if task == "translation":
        words = _known(seed_text, lexicon)
        if not words:
            raise Drop("no word of the table", seed_text)
        used = {requirement.old for requirement in before if requirement.kind == "translation"}
        left = {word: _left(word, lexicon[word], response, before) for word in words if word not in used}
        left = {word: requirements for word, requirements in left.items() if requirements}
        if not left:
            raise Drop("no translation left", ", ".join(words))
        chosen = rng.choice(left[rng.choice(list(left))])
    else:
        free = [requirement for requirement in of_style(response, task) if goes_with(requirement, before)]
        if not free:
            raise Drop("no requirement left", response)
        chosen = rng.choice(free)
    return chosen.in_words(standing), chosen.focus


def _known(sentence: str, lexicon: Mapping[str, Sequence[str]]) -> list[str]:
    """The words of the lexicon that stand in the sentence in any form, in order."""
    forms = ((word, en.lemma(word)) for word in en.words(sentence))
    matches = (next((form for form in either if form in lexicon), None) for either in forms)
    return list(dict.fromkeys(word for word in matches if word is not None))


def _left(word: str, translations: Sequence[str], response: str, before: Sequence[Requirement]) -> list[Requirement]:
    free = (
        Requirement("translation", translation, word) for translation in translations if translation not in response
    )
    return [requirement for requirement in free if goes_with(requirement, before)]
