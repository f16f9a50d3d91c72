"""The endpoint against servers that imitate real ones: what they refuse, how long they may be asked, and thoughts."""

import json
from contextlib import aclosing, closing
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from flows.llm.cache import CompletionCache
from flows.llm.endpoint import Endpoint
from flows.llm.endpoint_settings import REASONING_TOKENS, EndpointSettings
from flows.llm.limits import Budget
from flows.llm.model import (
    InvalidAnswer,
    NoAnswer,
    Prompt,
    PromptTooLong,
    Text,
    TransportError,
    Usage,
    without_thought,
)
from flows.llm.refusal import RefusedRequest
from tests.chat_server import ChatServer, Faults, Messages, Refusal, Reply
from tests.imitations import Refuses, llama_cpp, o1_mini, ollama, openai_window, tokens_of, vllm_window
from tests.test_flows_llm_endpoint import Asked, Square, a_prompt, ask


def answers(messages: Messages) -> str:
    """The square of the number in the user's message."""
    words = next(one["content"] for one in messages if one["role"] == "user").split()
    return str(int(words[words.index("Square") + 1]) ** 2)


def squares(messages: Messages) -> str:
    return json.dumps({"square": int(answers(messages)), "words": ["sure"]})


# ---- what a server does not take ----


async def test_o1_mini_is_asked_as_it_wants_and_the_user_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    with ChatServer(answers, refuses=o1_mini) as server:
        found = await ask(server, tmp_path, a_prompt(tmp_path), range(8), told=told, parameters={"top_p": 0.9})
        assert found == [Text(text=str(n * n)) for n in range(8)]
        last = server.requests[-1].body
        assert set(last) == {"messages", "model", "max_completion_tokens"}
        assert last["max_completion_tokens"] == 50
        assert last["messages"] == [{"role": "user", "content": "Be exact.\n\nSquare 7 please"}]
        assert [one.partition(" (")[0] for one in told] == [
            "model gpt-4o-mini: takes no system message; what it says is put before the user's first",
            "model gpt-4o-mini: does not take temperature 0.0, which is left out",
            "model gpt-4o-mini: does not take top_p 0.9, which is left out",
        ]
        assert "Only the default (1) value is supported." in told[1]


async def test_o1_mini_gets_the_form_in_words(tmp_path: Path) -> None:
    with ChatServer(squares, refuses=o1_mini) as server:
        found = await ask(server, tmp_path, a_prompt(tmp_path, Square), range(5))
        assert found == [Square(square=n * n, words=("sure",)) for n in range(5)]
        # The first call finds out alone: the limit's name, the system message, the temperature, two forms.
        assert server.outcomes() == {"400": 5, "200": 5}
        said = server.requests[-1].body["messages"][0]["content"]
        assert said.startswith("Be exact.\n\nSquare 4 please\n\nAnswer with one JSON object")


async def test_a_value_that_is_taken_is_sent_whatever_else_was_refused(tmp_path: Path) -> None:
    """o1-mini takes the temperature 1: what is left out does not depend on which call came first."""
    cold, warm = a_prompt(tmp_path), Prompt("told", 1, Text, tmp_path, temperature=1.0, max_tokens=60)
    for order in permutations([cold, warm, cold]):
        with ChatServer(answers, refuses=o1_mini) as server:
            folder = tmp_path / "".join(str(prompt.max_tokens) for prompt in order)
            folder.mkdir(exist_ok=True)
            for prompt in order:
                await ask(server, folder, prompt, [3])
            sent = {one.body["max_completion_tokens"]: one.body.get("temperature") for one in server.answered}
            assert sent == {50: None, 60: 1.0}


@pytest.mark.parametrize(
    "said",
    [
        "temperature: Extra inputs are not permitted",
        "`temperature` is deprecated for this model.",
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}
            ]
        },
        {"error": {"message": "Not supported by this model", "param": "temperature"}},
        "Unrecognized request argument supplied: temperature",
    ],
)
async def test_servers_name_a_parameter_each_in_their_way(tmp_path: Path, said: str | dict[str, Any]) -> None:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        return (422 if isinstance(said, dict) else 400, said) if "temperature" in body else None

    with ChatServer(answers, refuses=refuses) as server:
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3]) == [Text(text="9")]
        assert server.requests[-1].body["messages"][0] == {"role": "system", "content": "Be exact."}


@pytest.mark.parametrize(
    "said",
    [
        "System role not supported",
        "Developer instruction is not enabled for models/gemma-3-27b-it: no system messages",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ],
)
async def test_a_template_without_a_system_message_gets_it_in_the_users(tmp_path: Path, said: str) -> None:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        return (400, said) if body["messages"][0]["role"] == "system" else None

    with ChatServer(answers, refuses=refuses) as server:
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3]) == [Text(text="9")]


async def test_an_answer_is_asked_no_longer_than_the_model_can_be(tmp_path: Path) -> None:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        said = "max_tokens is too large: 50. This model supports at most 40 completion tokens, whereas you provided 50."
        return (400, {"error": {"message": said, "param": "max_tokens"}}) if body["max_tokens"] > 40 else None

    told: list[str] = []
    with ChatServer(answers, refuses=refuses) as server:
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3], told=told) == [Text(text="9")]
        assert server.requests[-1].body["max_tokens"] == 40
    assert told[0].startswith("model gpt-4o-mini: does not answer with more than 40 tokens")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (503, "The model is overloaded (GPU temperature throttling); retry later"),
        (500, "Internal error: worker died with max_tokens=50 pending"),
        (500, "This replica supports at most 5 completion tokens"),
        (502, "The system instruction store is down"),
    ],
)
async def test_a_fault_that_passes_teaches_nothing(tmp_path: Path, status: int, said: str) -> None:
    told: list[str] = []
    faults = iter([(status, said)] * 2)
    with ChatServer(answers, refuses=lambda body: next(faults, None)) as server:
        made = EndpointSettings(name="gpt-4o-mini", base_url=server.url, max_retries=0)
        with closing(CompletionCache(f"sqlite:///{tmp_path}/cache.db")) as cache:
            async with aclosing(Endpoint(made, cache, tell=told.append)) as endpoint:
                for number in (3, 4):
                    with pytest.raises(TransportError, match=f"server error {status}"):
                        await endpoint.complete(a_prompt(tmp_path), Asked(number=number), usage=Usage())
                assert await endpoint.complete(a_prompt(tmp_path), Asked(number=3), usage=Usage()) == Text(text="9")
        sent = server.requests[-1].body
        assert (sent["temperature"], sent["max_tokens"], sent["messages"][0]["role"]) == (0.0, 50, "system")
    assert told == []


# ---- settings ----


async def test_what_the_user_sets_is_sent_and_is_known_by_it(tmp_path: Path) -> None:
    own: dict[str, Any] = {"temperature": 0.6, "parameters": {"top_p": 0.9, "seed": 7}, "max_tokens": {"told": 500}}
    with ChatServer(answers) as server:
        await ask(server, tmp_path, a_prompt(tmp_path), [3])
        await ask(server, tmp_path, a_prompt(tmp_path), [3], **own)
        plain, set_by_user = (request.body for request in server.requests)
        assert (plain["temperature"], plain["max_tokens"]) == (0.0, 50)
        assert {name: set_by_user[name] for name in ("temperature", "top_p", "seed", "max_tokens")} == {
            "temperature": 0.6, "top_p": 0.9, "seed": 7, "max_tokens": 500,
        }  # fmt: skip
        server.clear()
        await ask(server, tmp_path, a_prompt(tmp_path), [3], **own)
        assert server.requests == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"parameters": {"temperature": 1}}, "temperature is set elsewhere"),
        ({"parameters": {"messages": []}}, "messages is set elsewhere"),
        ({"parameters": {"top_p": float("nan")}}, "top_p is nothing that JSON can say"),
        ({"parameters": {" top_p": 1}}, "' top_p' is no parameter's name"),
        ({"temperature": -1}, "greater than or equal to 0"),
        ({"temperature": float("inf")}, "finite"),
        ({"max_tokens": {"told": 0}}, "greater than or equal to 1"),
        ({"max_tokens": {"told": 10**20}}, "less than or equal to 1000000000"),
        ({"reasoning_tokens": 10**20}, "less than or equal to 1000000000"),
        ({"window": 2}, "greater than or equal to 16"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EndpointSettings(name="m", **settings)


# ---- thoughts ----


@pytest.mark.parametrize("shows", ["count", "reasoning_content", "think", "nothing"])
async def test_thoughts_do_not_eat_an_answer(tmp_path: Path, shows: Any) -> None:
    told: list[str] = []
    with ChatServer(lambda messages: Reply(answers(messages), thought=200, shows=shows)) as server:
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3], told=told) == [Text(text="9")]
        assert [one.body["max_tokens"] for one in server.requests] == [50, 50 + REASONING_TOKENS]
        # The next calls of this run have room at once.
        server.clear()
        found = await ask(server, tmp_path, a_prompt(tmp_path), range(4, 9))
        assert found == [Text(text=str(n * n)) for n in range(4, 9)]
        room = [one.body["max_tokens"] > 50 for one in server.requests]
        assert room == [False, *[True] * 5]
        # Nothing is paid for twice.
        server.clear()
        assert await ask(server, tmp_path, a_prompt(tmp_path), range(3, 9)) == [
            Text(text=str(n * n)) for n in range(3, 9)
        ]
        assert server.requests == []
    assert [one.partition(";")[0] for one in told] == [
        "model gpt-4o-mini: thinks before it answers, and its thoughts take the tokens of its answers"
    ]


async def test_the_room_for_thoughts_is_a_setting(tmp_path: Path) -> None:
    with ChatServer(lambda messages: Reply(answers(messages), thought=200)) as server:
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3], reasoning_tokens=300) == [Text(text="9")]
        assert [one.body["max_tokens"] for one in server.requests] == [350]
        server.clear()
        [error] = await ask(server, tmp_path, a_prompt(tmp_path), [3], reasoning_tokens=0)
        assert (error.reason, error.answer) == ("answer cut off", "")


async def test_a_long_answer_without_a_thought_ends_where_it_would_whatever_the_order(tmp_path: Path) -> None:
    """One question is thought about, another one answered at length without a thought."""

    def mixed(messages: Messages) -> Reply:
        if answers(messages) == "9":
            return Reply("nine", thought=200)
        return Reply("never ending " * 100, usage=(10, 300))

    with ChatServer(mixed) as server:
        chat = server._reply

        def limited(body: dict[str, Any], name: str) -> dict[str, Any]:
            reply = chat(body, name)
            choice = reply["choices"][0]
            if body["max_tokens"] == 50 and choice["message"]["content"].startswith("never"):
                choice["message"]["content"], choice["finish_reason"] = "never ending", "length"
                reply["usage"]["completion_tokens"] = 50
            return reply

        server._reply = limited  # type: ignore[method-assign]
        expected = {3: Text(text="nine"), 4: Text(text="never ending", cut_off=True)}
        for order in ([3, 4], [4, 3]):
            folder = tmp_path / str(order[0])
            folder.mkdir()
            found = await ask(server, folder, a_prompt(tmp_path), order, concurrency=1)
            assert found == [expected[n] for n in order]
            server.clear()
            assert await ask(server, folder, a_prompt(tmp_path), order[::-1]) == [expected[n] for n in order[::-1]]
            assert server.requests == []


def hides_thoughts(messages: Messages) -> Reply:
    """Thoughts of 10 to 82 tokens that are counted but not shown, and an answer of 4 to 36."""
    number = int(answers(messages)) % 10
    return Reply("so " * (5 + 5 * number), thought=10 + 8 * number, shows="nothing")


async def test_an_answer_does_not_depend_on_what_was_learnt_before_it(tmp_path: Path) -> None:
    """In one run, in another order, all at once, and number by number as by runs that were stopped in between."""
    numbers = list(range(12))
    found: list[dict[int, Any]] = []
    with ChatServer(hides_thoughts, faults=Faults(latency_s=(0.0, 0.01))) as server:
        orders: list[list[list[int]]] = [[numbers], [numbers[::-1]], [[n] for n in numbers], [numbers[6:], numbers[:6]]]
        for place, runs in enumerate(orders):
            folder = tmp_path / str(place)
            folder.mkdir()
            answered = {}
            for run in runs:
                given = await ask(server, folder, a_prompt(folder), run, concurrency=1 if place < 2 else 8)
                answered.update(zip(run, given, strict=True))
            found.append({number: answered[number] for number in numbers})
    assert found[1:] == found[:1] * 3
    whole = [one == Text(text="so " * (5 + 5 * (n * n % 10))) for n, one in found[0].items()]
    assert sum(whole) >= 8


async def test_every_call_that_was_made_for_an_answer_is_paid_under_the_ceiling(tmp_path: Path) -> None:
    usage, budget = Usage(), Budget(100)
    with ChatServer(lambda messages: Reply(answers(messages), thought=200)) as server:
        await ask(server, tmp_path, a_prompt(tmp_path), [3], usage, budget=budget)
    assert usage.calls == 2
    assert usage.output_tokens == 50 + 200
    assert budget.spent_usd == pytest.approx(usage.cost_usd)


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("<think>two and two</think>\n\nfour", "four"),
        ("\n<think>\nnever closed", ""),
        ("a thought that the template began\n</think>\n\nfour", "four"),
        ("[THINK]hm[/THINK]four", "four"),
        ("<thinking>hm</thinking> four", "four"),
        ("The tag <think> begins a thought, </think> ends it.", "The tag <think> begins a thought, </think> ends it."),
        ("four", "four"),
    ],
)
def test_a_thought_is_no_part_of_an_answer(answer: str, left: str) -> None:
    assert without_thought(answer) == left


async def test_an_answer_in_parts_is_read_without_its_thoughts(tmp_path: Path) -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "nine"}]
    with ChatServer(lambda _: "x") as server:
        server._send = lambda writer, status, body, headers=None: server._send_bytes(  # type: ignore[method-assign]
            writer, status, json.dumps(body).replace('"x"', json.dumps(parts)).encode()
        )
        assert await ask(server, tmp_path, a_prompt(tmp_path), [3]) == [Text(text="nine")]


async def test_answers_that_are_cut_off_are_counted_also_from_the_cache(tmp_path: Path) -> None:
    with ChatServer(lambda _: "a long answer", faults=Faults(truncated=1)) as server:
        for calls in (4, 0):
            usage = Usage()
            found = await ask(server, tmp_path, a_prompt(tmp_path), range(4), usage)
            assert all(one.cut_off for one in found)
            assert (usage.calls, usage.cut_off) == (calls, 4)


# ---- prompts that are too long ----


def a_long_prompt(folder: Path, tokens: int = 50) -> Prompt[Any]:
    (folder / "long.j2").write_text(f"{{% block user %}}Square {{{{ number }}}} {'on and on ' * 400}{{% endblock %}}")
    return Prompt("long", 1, Text, folder, temperature=0.0, max_tokens=tokens)


@pytest.mark.parametrize(
    ("refuses", "window"),
    [
        (openai_window(800), 800),
        (vllm_window(800), 800),
        (llama_cpp(800, tells=True), 800),
        (llama_cpp(800, tells=False), None),
        (ollama(800), None),
    ],
)
async def test_a_prompt_that_does_not_fit_is_no_answer(tmp_path: Path, refuses: Refuses, window: int | None) -> None:
    with ChatServer(answers, refuses=refuses) as server:
        [error] = await ask(server, tmp_path, a_long_prompt(tmp_path), [3])
        assert isinstance(error, PromptTooLong)
        assert error.reason == "prompt longer than the model's window"
        assert error.window == window
        assert 950 < error.tokens < 1100


async def test_a_window_is_learnt_from_the_list_of_models_where_it_tells(tmp_path: Path) -> None:
    listed = {"max_model_len": 800, "meta": {"n_ctx_train": 131072}}
    with ChatServer(answers, refuses=ollama(800), listed=listed) as server:
        errors = await ask(server, tmp_path, a_long_prompt(tmp_path), [3, 4])
        assert [error.window for error in errors] == [800, 800]
        server.listed = {"meta": {"n_ctx_train": 131072}}  # what it was trained with is not what it is run with
        [error] = await ask(server, tmp_path, a_long_prompt(tmp_path), [3])
        assert error.window is None


async def test_room_for_thoughts_gives_way_to_a_prompt(tmp_path: Path) -> None:
    with ChatServer(lambda messages: Reply(answers(messages), thought=200), refuses=vllm_window(1500)) as server:
        assert await ask(server, tmp_path, a_long_prompt(tmp_path), [3]) == [Text(text="9")]
        *_, last = server.requests
        tokens = 3 + len(last.body["messages"][0]["content"]) // 4
        assert last.body["max_tokens"] == 1500 - tokens


async def test_what_a_filter_says_is_no_answer_of_the_model(tmp_path: Path) -> None:
    said = "The response was filtered due to the prompt triggering content management policy."
    refused = 400, {"error": {"message": said, "code": "content_filter", "param": "prompt"}}
    with ChatServer(answers, refuses=lambda body: refused) as server:
        for _ in range(2):
            [error] = await ask(server, tmp_path, a_prompt(tmp_path), [3])
            assert isinstance(error, NoAnswer)
            assert (error.reason, error.answer) == ("refused", said)
        assert len(server.requests) == 1
    with ChatServer(lambda _: Reply(None, refusal="I cannot help.")) as server:
        [error] = await ask(server, tmp_path, a_prompt(tmp_path), [4])
        assert isinstance(error, InvalidAnswer)
        assert not isinstance(error, NoAnswer)


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"),
        (400, "Content Exists Risk", "invalid_request_error"),
        (
            400,
            "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
            None,
        ),
        (400, "The request was rejected because it was considered high risk", "content_filter"),
        (403, 'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence".', "403"),
        (400, "系统检测到输入或生成内容可能包含不安全或敏感内容", "1301"),
    ],
)
async def test_a_prompt_that_a_provider_will_not_have_answered_drops_the_record_only(
    tmp_path: Path, status: int, said: str, code: str | None
) -> None:
    def refuses(body: dict[str, Any]) -> Refusal | None:
        asked = body["messages"][1]["content"]
        return (status, {"error": {"message": said, "code": code}}) if asked == "Square 3 please" else None

    told: list[str] = []
    with ChatServer(answers, refuses=refuses) as server:
        error, answer = await ask(server, tmp_path, a_prompt(tmp_path), [3, 4], told=told)
        assert isinstance(error, NoAnswer)
        assert (error.reason, error.answer) == ("refused", said)
        assert answer == Text(text="16")
        assert len(server.requests) == 2
    assert told == []


def test_a_key_and_a_pace_are_no_matter_of_what_a_prompt_says() -> None:
    for status in (401, 429, 500, 503):
        assert not RefusedRequest(status, "", "your account was flagged").is_about_content
    assert not RefusedRequest(400, "", "Unsupported value: 'temperature'").is_about_content


@pytest.mark.parametrize(
    ("said", "window", "tokens"),
    [
        ("This model's maximum context length is 16385 tokens. However, your messages resulted in 20,123 tokens. Please"
         " reduce the length of the messages.", 16385, 20123),
        ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
         272000, 300000),
        ("The decoder prompt (length 20001) is longer than the maximum model length of 16384.", 16384, 20001),
        ("You passed 16385 input tokens and requested 512 output tokens. However, the model's context length is only "
         "16384 tokens, resulting in a maximum input length of 15872 tokens.", 16384, 16385),
        ("The input (20000 tokens) is longer than the model's context length (16384 tokens).", 16384, 20000),
        ("Requested token count exceeds the model's maximum context length of 16384 tokens. You requested a total of "
         "17000 tokens: 16500 tokens from the input messages and 500 tokens for the completion.", 16384, 16500),
        ("request (20000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 20000),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200000, 208310),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1200000),
        ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
         32768, 40000),
        ("`inputs` must have less than 4095 tokens. Given: 5000", 4095, 5000),
        ("prompt too long; exceeded max context length by 12 tokens", None, None),
        ("Trying to keep the first 20000 tokens when context the overflows. However, the model is loaded with context "
         "length of only 4096 tokens, which is not enough. Try to load the model with a larger context length", 4096,
         None),
        ("input length and `max_tokens` exceed context limit: 13905 + 512 > 4096, decrease input length",
         4096, 13905),
        ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 4096]", 4096, None),
        ("The total number of tokens in the messages and max_tokens must be less than or equal to 4096 (model context "
         "length)", 4096, None),
        ("Invalid request: Your request exceeded model token limit: 4096 (requested: 13905)", 4096, 13905),
        ("Invalid request: Your request exceeded model token limit: 4096", 4096, None),
        ("too many tokens: total number of tokens in the prompt cannot exceed 4096 - received 13905. Try using a "
         "shorter prompt", 4096, 13905),
        ("the number of input tokens 13905 cannot exceed the total tokens limit 4096 for this model", 4096, 13905),
        ("Prompt length 13905 exceeds maximum 4096", 4096, 13905),
        ("Prompt 超长", None, None),
    ],
)  # fmt: skip
def test_what_servers_say_of_their_window(said: str, window: int | None, tokens: int | None) -> None:
    refused = RefusedRequest(400, "", said)
    assert refused.is_about_length
    assert (refused.window, refused.prompt_tokens) == (window, tokens)


@pytest.mark.parametrize("status", [413, 429])
def test_one_request_that_is_more_than_a_minutes_tokens_is_too_long(status: int) -> None:
    said = "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41,000. The input or output"
    refused = RefusedRequest(status, "rate_limit_exceeded", said)
    assert refused.is_about_length
    assert refused.window == 30000


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, "Rate limit reached: too many tokens per minute"),
        (401, "Incorrect API key provided"),
        (400, "Unsupported value: 'temperature' does not support 0 with this model."),
        (400, "max_tokens is too large: 20000. This model supports at most 16384 completion tokens"),
    ],
)
def test_other_refusals_say_nothing_of_a_window(status: int, said: str) -> None:
    refused = RefusedRequest(status, "", said)
    assert not refused.is_about_length
    assert not (status != 400 and refused.is_about("tokens"))


@pytest.mark.parametrize("refuses", [openai_window(16384), vllm_window(16384), llama_cpp(16384, tells=True)])
@pytest.mark.parametrize("window", [None, 15000, 16384])
async def test_a_window_of_16k_holds_the_ends_of_a_longer_prompt(
    tmp_path: Path, refuses: Refuses, window: int | None
) -> None:
    """About 30,000 tokens; what the user says of the window may be too much."""
    (tmp_path / "long.j2").write_text(
        "{% block system %}Be exact.{% endblock %}"
        f"{{% block user %}}Square {{{{ number }}}} {'on and on ' * 12000}The end.{{% endblock %}}"
    )
    prompt = Prompt("long", 1, Text, tmp_path, temperature=0.0, max_tokens=64, may_be_cut=True)
    with (
        ChatServer(answers, refuses=refuses) as server,
        closing(CompletionCache(f"sqlite:///{tmp_path}/c.db")) as cache,
    ):
        settings = EndpointSettings(name="gpt-4o-mini", base_url=server.url, window=window)
        async with aclosing(Endpoint(settings, cache)) as endpoint:
            answer = await endpoint.complete(prompt, Asked(number=7), usage=Usage())
        assert answer == Text(text="49", prompt_cut=True)
        [answered] = server.answered
        assert 14000 < tokens_of(answered.body) <= 16384
        said = answered.body["messages"][1]["content"]
        assert said.startswith("Square 7 on and on")
        assert said.endswith("on and on The end.")
        assert len(server.requests) <= 3
