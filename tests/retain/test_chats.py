"""Talks as chat programs write them: who said what and when; and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import recollect
from recollect.retain.chunk import statements

IRSSI = """--- Log opened Tue Mar 12 12:00:00 2024
12:00 -!- ann [~ann@host] has joined #bees
12:03 <ann> hello all
12:04 <@bob_> ann: hi! see <https://x.org>
12:04  * ann waves
12:05 < carl> note: I am back
--- Day changed Wed Mar 13 2024
00:03 -!- bob_ [b@h] has quit [Ping timeout]
00:04 <ann> good night"""
WEECHAT = (
    "2024-03-12 12:03:44\t-->\tann (~a@h) has joined #x\n2024-03-12 12:04:00\tann\thello there\n"
    "2024-03-12 12:04:10\t@bob\thi: you\n2024-03-12 12:04:30\t *\tann waves\n"
    "2024-03-12 12:04:44\t<--\tann (~a@h) has quit (bye)\n2024-03-12 12:04:50\t--\tMode #x [+o bob]"
)
DISCORD = """Ann — 03/12/2024 2:05 PM
Hello
Note: this is mine

- and a list
[2:06 PM]third
zorg_77 — 03/12/2024 2:07 PM
Bob: is it you?
Ann pinned a message to this channel. See all pinned messages. — 03/12/2024 2:08 PM
Ann — Yesterday at 2:05 PM
back"""
SLACK = """Ann Lee
  2:05 PM
Hello there
2:06
second: yes
Bob Smith
  2:07 PM
joined #general.
Zed
  2:08 PM
Build ok"""
TELEGRAM = """Ann Lee, [12.03.2024 14:05]
Hello there

Bob: he said so
Bo 🐝, [12.03.2024 14:06:10]
[In reply to Ann Lee]
Hi"""

SLACK_DAYS = """Monday, March 4th
Ann Lee
  11:58 AM
Hello there
12:01
second
Today

Bob Smith
  2:07 PM
When do you fly?
Ann Lee
  2:08 PM
Today
2:09
really
----- Tuesday, March 5th, 2024 -----
New
Bob Smith
  2:07 PM
good"""
TEAMS = """[10:32 AM] Jane Doe
Shall we ship?
It is late.
[10:33 AM] Smith, Bob (Guest)

Yes: today"""

TALKS = {
    "irssi": (
        IRSSI,
        [
            (None, "Log opened Tue Mar 12 12:00:00 2024"),
            (None, "ann [~ann@host] has joined #bees"),
            ("ann", "hello all"),
            ("bob_", "ann: hi! see <https://x.org>"),
            (None, "ann waves"),
            ("carl", "note: I am back"),
            (None, "Day changed Wed Mar 13 2024"),
            (None, "bob_ [b@h] has quit [Ping timeout]"),
            ("ann", "good night"),
        ],
    ),
    "ZNC": (
        "[12:03:44] <ann> hello\n[12:03:50] *** Joins: bob (b@h)\n[12:04:00] <bob> yo",
        [("ann", "hello"), (None, "Joins: bob (b@h)"), ("bob", "yo")],
    ),
    "IRC with dates": (
        "2024-03-12 12:03:44 <ann> hello\n2024-03-12 12:04:44 <bob> yo",
        [("ann", "hello"), ("bob", "yo")],
    ),
    "IRC without times": (
        "<ann> hi\n<bob> yo\n* bob grins\n<ann> bye",
        [("ann", "hi"), ("bob", "yo"), (None, "bob grins"), ("ann", "bye")],
    ),
    "WeeChat": (
        WEECHAT,
        [
            (None, "ann (~a@h) has joined #x"),
            ("ann", "hello there"),
            ("bob", "hi: you"),
            (None, "ann waves"),
            (None, "ann (~a@h) has quit (bye)"),
            (None, "Mode #x [+o bob]"),
        ],
    ),
    "WeeChat without tabs": (
        "2024-03-12 12:03:44 ann hello there\n2024-03-12 12:04:00 bob ann: hi yourself",
        [("ann", "hello there"), ("bob", "ann: hi yourself")],
    ),
    "WeeChat's screen": (
        "12:03:44      --> | ann (~a@h) has joined\n12:03:50      ann | hello\n12:03:59     @bob | hi",
        [(None, "ann (~a@h) has joined"), ("ann", "hello"), ("bob", "hi")],
    ),
    "Telegram": (
        TELEGRAM,
        [
            ("Ann Lee", "Hello there\n\nBob: he said so"),
            ("Bo 🐝", "[In reply to Ann Lee]\nHi"),
        ],
    ),
    "Telegram on a Mac": (
        "Ann, [12 Mar 2024 at 14:05]:\nhi\n\nBob, [12 Mar 2024 at 14:06]:\nyo",
        [("Ann", "hi"), ("Bob", "yo")],
    ),
    "Discord": (
        DISCORD,
        [
            ("Ann", "Hello\nNote: this is mine\n\n- and a list"),
            ("Ann", "third"),
            ("zorg_77", "Bob: is it you?"),
            (
                None,
                "Ann pinned a message to this channel. See all pinned messages. — 03/12/2024 2:08 PM",
            ),
            ("Ann", "back"),
        ],
    ),
    "Discord by handles": (
        "xX_bob — 03/12/2024 2:05 PM\nHello\nzorg — 03/12/2024 2:06 PM\nyo\nxX_bob — Today at 2:07 PM\nok",
        [("xX_bob", "Hello"), ("zorg", "yo"), ("xX_bob", "ok")],
    ),
    "a Discord channel exported": (
        "[12-Mar-24 02:05 PM] ann#1234\nHello\nmore\n\n[12-Mar-24 02:06 PM] zorg\nyo\n\n{Attachments}\nhttps://x/y.png",
        [("ann#1234", "Hello\nmore"), ("zorg", "yo\n\n{Attachments}\nhttps://x/y.png")],
    ),
    "Slack": (
        SLACK,
        [
            ("Ann Lee", "Hello there"),
            ("Ann Lee", "second: yes"),
            (None, "Bob Smith\n  2:07 PM\njoined #general."),
            ("Zed", "Build ok"),
        ],
    ),
    "Slack with days": (
        SLACK_DAYS,
        [
            ("Ann Lee", "Hello there"),
            ("Ann Lee", "second"),
            ("Bob Smith", "When do you fly?"),
            ("Ann Lee", "Today"),
            ("Ann Lee", "really"),
            ("Bob Smith", "good"),
        ],
    ),
    "Teams": (
        TEAMS,
        [("Jane Doe", "Shall we ship?\nIt is late."), ("Bob Smith", "Yes: today")],
    ),
    "Teams with days": (
        "[3/4 10:32 AM] Jane Doe\nhi\n[Yesterday 10:33 AM] Bob Smith\nyo\n[2/20/2024 10:34 AM] Jane Doe\nbye",
        [("Jane Doe", "hi"), ("Bob Smith", "yo"), ("Jane Doe", "bye")],
    ),
    "Teams in German": (
        "[Gestern 10:32] Müller, Zorg\nHallo\n[Gestern 10:33] Jane Doe\nHi",
        [("Zorg Müller", "Hallo"), ("Jane Doe", "Hi")],
    ),
    "Teams on a line": (
        "Jane Doe  10:32 AM\nShall we ship?\nBob Smith  10:34 AM\nYes",
        [("Jane Doe", "Shall we ship?"), ("Bob Smith", "Yes")],
    ),
    "Teams on a line with a day": (
        "Doe, Jane 3/4/2024 10:32 AM\nShall we ship?\nBob Smith, 3/4/2024 10:34 AM\nYes",
        [("Jane Doe", "Shall we ship?"), ("Bob Smith", "Yes")],
    ),
    "Teams where days come first": (
        "Jane Doe 4/03/2024 10:32 AM\nShall we ship?\nBob Smith 13/03/2024 10:34 AM\nYes",
        [("Jane Doe", "Shall we ship?"), ("Bob Smith", "Yes")],
    ),
    "Slack in brackets": (
        "Ann Lee [2:05 PM]\nHello there\n[2:06 PM] second\nBob Smith [2:07 PM]\nhi",
        [("Ann Lee", "Hello there"), ("Ann Lee", "second"), ("Bob Smith", "hi")],
    ),
    "Slack on a line": (
        "Ann Lee  2:05 PM\nHello\nBob Smith  2:06 PM\nyo\nAnn Lee  Mar 12th, 2024 at 2:07 PM\nok",
        [("Ann Lee", "Hello"), ("Bob Smith", "yo"), ("Ann Lee", "ok")],
    ),
}


TALKS |= {
    "times without brackets": (
        "10:32 Ann: Are you coming?\n10:33 Bob: Yes: at nine.\n10:35 Ann: Great.",
        [("Ann", "Are you coming?"), ("Bob", "Yes: at nine."), ("Ann", "Great.")],
    ),
    "you and a nick": (
        "You — Today at 10:32 AM\nAre you coming?\nskyfox — Today at 10:33 AM\nYes, at nine.",
        [("You", "Are you coming?"), ("skyfox", "Yes, at nine.")],
    ),
    "you and a nick on a line": (
        "You: Are you coming?\nskyfox: Yes, at nine.",
        [("You", "Are you coming?"), ("skyfox", "Yes, at nine.")],
    ),
    "you and a nick that is a word": (
        "shadow: Are you coming?\nYou: Yes.\nshadow: At nine?\nYou: At ten.",
        [
            ("shadow", "Are you coming?"),
            ("You", "Yes."),
            ("shadow", "At nine?"),
            ("You", "At ten."),
        ],
    ),
    "you and a nick with more lines": (
        "You: Are you coming?\nskyfox: Yes.\nAt nine.\nYou: Great.\nskyfox: See you.",
        [
            ("You", "Are you coming?"),
            ("skyfox", "Yes.\nAt nine."),
            ("You", "Great."),
            ("skyfox", "See you."),
        ],
    ),
    "you on IRC": (
        "10:32 <You> hi there\n10:33 <skyfox> hello",
        [("You", "hi there"), ("skyfox", "hello")],
    ),
    "subtitles with names": (
        "WEBVTT\n\n1\n00:00:01.000 --> 00:00:04.000\nAnn Lee: Welcome everybody.\n\n2\n00:00:05.000 --> 00:00:07.000\n"
        "So the plan: to start\nright now.\n\n3\n00:00:07.000 --> 00:00:09.000\nBob: Thanks, Ann.",
        [
            (None, "WEBVTT"),
            ("Ann Lee", "Welcome everybody."),
            ("Ann Lee", "So the plan: to start\nright now."),
            ("Bob", "Thanks, Ann."),
        ],
    ),
    "voices of WebVTT": (
        "WEBVTT\n\n0f3a-12/4-0\n00:00:01.000 --> 00:00:04.000\n<v Ann Lee>Welcome everybody.\nWe start now.</v>\n\n"
        "00:00:05.000 --> 00:00:07.000\n<v.loud O'Neill, Bob>Thanks, Ann.\n\n00:00:07.000 --> 00:00:09.000\n"
        "Shall we?\n\n00:00:09.000 --> 00:00:11.000\n<v Ann Lee>Yes.</v>\n<v Cy>Go on.</v>",
        [
            (None, "WEBVTT"),
            ("Ann Lee", "Welcome everybody.\nWe start now."),
            ("Bob O'Neill", "Thanks, Ann."),
            ("Bob O'Neill", "Shall we?"),
            ("Ann Lee", "Yes."),
            ("Cy", "Go on."),
        ],
    ),
    "headings of roles": (
        "### User\nWhat is the capital?\n\n### Assistant\n## France\nParis.\n\n- big\n\n### User\nThanks",
        [
            ("User", "What is the capital?"),
            ("Assistant", "## France\nParis.\n\n- big"),
            ("User", "Thanks"),
        ],
    ),
    "ChatGPT": (
        "You said:\nWhat is the capital?\nChatGPT said:\nParis: a big city.\n\n# More\n1. one\n2. two",
        [
            ("You", "What is the capital?"),
            ("ChatGPT", "Paris: a big city.\n\n# More\n1. one\n2. two"),
        ],
    ),
    "roles above": (
        "**User:**\nhi\n\n**Assistant:**\nHello",
        [("User", "hi"), ("Assistant", "Hello")],
    ),
    "some above what they say": (
        "User: make a list\nAssistant:\nHere it is:\n- a\nUser: thanks",
        [("User", "make a list"), ("Assistant", "Here it is:\n- a"), ("User", "thanks")],
    ),
    "people above what they say": (
        "Ann: hi\nBob:\nI have news.\nSummary:\nI quit.\nAnn:\nOh!",
        [("Ann", "hi"), ("Bob", "I have news.\nSummary:\nI quit."), ("Ann", "Oh!")],
    ),
}


@pytest.mark.parametrize("form", TALKS)
def test_a_chat_is_read_as_who_said_what(form: str) -> None:
    text, said = TALKS[form]
    assert [(each.speaker, each.text) for each in statements(text)] == said


@pytest.mark.parametrize("form", TALKS)
def test_nothing_of_a_chat_is_lost(form: str) -> None:
    text, _ = TALKS[form]
    spans = [each.span for each in statements(text)]
    left = {n for n, sign in enumerate(text) if not sign.isspace()}
    assert not left - {n for start, end in spans for n in range(start, end)}


@pytest.mark.parametrize("form", TALKS)
def test_lines_may_end_as_they_do_on_windows(form: str) -> None:
    text, said = TALKS[form]
    found = statements(text.replace("\n", "\r\n"))
    assert [(each.speaker, each.text.replace("\r", "")) for each in found] == said


def test_a_chat_below_a_heading_is_about_it() -> None:
    found = statements("# France\n\n## User\nWhat is the capital?\n\n## Assistant\nParis.")
    assert [(each.speaker, each.heading) for each in found] == [
        ("User", "France"),
        ("Assistant", "France"),
    ]


@pytest.mark.parametrize(
    "label",
    [
        "note",
        "todo",
        "ps",
        "step 1",
        "password",
        "wifi",
        "milk",
        "monday",
        "iban",
        "github",
        "grand total",
    ],
)
def test_what_is_noted_in_a_message_is_nobody_s_nick(label: str) -> None:
    text = f"You: Here it is.\n{label}: 4711"
    assert [(s.speaker, s.text) for s in statements(text)] == [("You", text[5:])]


def test_a_word_in_longer_messages_is_nobody_s_nick() -> None:
    text = "You: Two more to try.\nMine and hers.\nflour: 200 g\nAnd the other.\nflour: 300 g"
    assert [(s.speaker, s.text) for s in statements(text)] == [("You", text[5:])]


def test_settings_in_an_answer_are_part_of_it() -> None:
    answer = "Write this:\nuser:\n  name: ann"
    text = f"User: How do I set it?\nAssistant: {answer}"
    assert [each.text for each in statements(text)] == ["How do I set it?", answer]


def test_a_message_without_words_is_nobody_s() -> None:
    text = "Ann — 03/12/2024 2:05 PM\nLook!\nBob — 03/12/2024 2:06 PM"
    assert [(each.speaker, each.text) for each in statements(text)] == [
        ("Ann", "Look!"),
        (None, "Bob — 03/12/2024 2:06 PM"),
    ]


def test_a_chat_that_is_quoted_in_a_talk_is_part_of_it() -> None:
    quoted = "What does he mean?\nAnn — 03/12/2024 2:05 PM\nbuy it\nBob — 03/12/2024 2:06 PM\nno"
    assert [
        (each.speaker, each.text)
        for each in statements(f"User: {quoted}\nAssistant: That he will not.")
    ] == [("User", quoted), ("Assistant", "That he will not.")]


@pytest.mark.parametrize(
    ("form", "text", "time"),
    [
        ("irssi", "hello all", "2024-03-12T12:03"),
        ("irssi", "good night", "2024-03-13T00:04"),
        ("irssi", "ann waves", "2024-03-12T12:04"),
        ("ZNC", "yo", "2026-01-02T10:00"),  # a clock alone names no day
        ("IRC with dates", "yo", "2024-03-12T12:04:44"),
        ("WeeChat", "hi: you", "2024-03-12T12:04:10"),
        ("Telegram", "[In reply to Ann Lee]\nHi", "2024-03-12T14:06:10"),
        ("Telegram on a Mac", "yo", "2024-03-12T14:06"),
        ("Discord", "third", "2024-03-12T14:06"),
        ("Discord", "Bob: is it you?", "2024-03-12T14:07"),
        ("Discord", "back", "2026-01-01T14:05"),
        ("Discord by handles", "ok", "2026-01-02T14:07"),
        ("a Discord channel exported", "Hello\nmore", "2024-03-12T14:05"),
        ("Slack on a line", "ok", "2024-03-12T14:07"),
        ("Slack with days", "Hello there", "2024-03-04T11:58"),  # a Monday
        ("Slack with days", "second", "2024-03-04T12:01"),
        ("Slack with days", "When do you fly?", "2026-01-02T14:07"),
        ("Slack with days", "good", "2024-03-05T14:07"),
        ("Teams", "Yes: today", "2026-01-02T10:00"),  # a clock alone names no day
        ("Teams with days", "hi", "2025-03-04T10:32"),
        ("Teams with days", "yo", "2026-01-01T10:33"),
        ("Teams with days", "bye", "2024-02-20T10:34"),
        ("Teams in German", "Hi", "2026-01-01T10:33"),
        ("Teams on a line with a day", "Yes", "2024-03-04T10:34"),
        ("Teams where days come first", "Shall we ship?", "2024-03-04T10:32"),
    ],
)
def test_a_message_was_said_when_its_stamp_says(
    memory: recollect.Recollect, form: str, text: str, time: str
) -> None:
    memory.retain("b", TALKS[form][0], timestamp="2026-01-02T10:00")
    held = {m.text: m.mentioned_at for m in memory.memories("b")}
    assert held[text] == datetime.fromisoformat(time).replace(tzinfo=UTC)


def test_today_is_the_day_of_whoever_gives_it(memory: recollect.Recollect) -> None:
    text = "Ann — Today at 2:05 PM\nI keep bees."
    memory.retain("b", text, timestamp="2026-01-03T01:00+09:00")
    (held,) = memory.memories("b")
    assert held.mentioned_at == datetime(2026, 1, 3, 14, 5, tzinfo=UTC)


def test_a_message_of_the_day_that_it_is_given_on_is_not_of_a_year_ago(
    memory: recollect.Recollect,
) -> None:
    text = "January 2nd\nAnn Lee\n  2:05 PM\nI keep bees.\nBob Smith\n  2:06 PM\nHow many?"
    memory.retain("b", text, timestamp="2026-01-02")
    held = {m.text: m.mentioned_at for m in memory.memories("b")}
    assert held["How many?"] == datetime(2026, 1, 2, 14, 6, tzinfo=UTC)


@pytest.mark.parametrize("sign", [" ", "-", "\t"])
def test_a_chat_with_a_long_line_is_read_at_once(sign: str) -> None:
    text = f"Ann Lee\n  2:05 PM\n{sign * 50_000}\nBob Smith\n  2:06 PM\nHow many?"
    assert statements(text)[-1].speaker == "Bob Smith"


def test_a_log_without_years_is_of_the_year_that_it_was_opened_in(
    memory: recollect.Recollect,
) -> None:
    log = "**** BEGIN LOGGING AT Tue Mar 12 12:00:00 2024\n\nMar 12 12:03:44 <ann>\thello\nMar 12 12:05:50 <bob>\tyo"
    memory.retain("b", log, timestamp="2026-01-02")
    held = {m.text: m.mentioned_at for m in memory.memories("b")}
    assert held["yo"] == datetime(2024, 3, 12, 12, 5, 50, tzinfo=UTC)


NO_TALKS = {
    "a schedule of people": "10:00 Ann: haircut\n10:30 Bob: beard trim\n11:00 Ann: colour",
    "a log of parts": "10:32:01 Worker: started\n10:32:04 Parser: ready\n10:32:07 Worker: stopped",
    "a log of errors": "10:32 Error: disk full\n10:33 Warning: slow\n10:34 Error: disk full",
    "a diary by the clock": "10:32 Ann: called about the car\n10:47 Garage: wants 200 for it",
    "a program's log": "2024-03-12 12:03:44 INFO Starting\n2024-03-12 12:03:45 DEBUG main ready\n2024-03-12 12:03:46 INFO done",
    "a package manager's log": "2024-03-12 12:03:44 status installed foo:amd64 1.2\n"
    "2024-03-12 12:03:44 configure foo:amd64 1.2 <none>\n2024-03-12 12:03:45 status half-installed bar",
    "levels in brackets": "12:03:44 <info> Starting\n12:03:45 <warn> slow\n12:03:46 <info> done",
    "what a program logs about": "12:03:44 <request> start\n12:03:45 <response> done\n12:03:46 <request> start",
    "parts of a program": "12:03:44 <loader> start\n12:03:45 <parser> done",
    "process ids in brackets": "12:03:44.000 <0.123.0> started\n12:03:45.000 <0.124.0> stopped",
    "columns of levels": "2024-03-12 12:03:44.123 | INFO | app:main:12 - hi\n2024-03-12 12:03:45.123 | INFO | app:main:12 - bye",
    "tabs and levels": "2024-03-12T12:03:44.000Z\tINFO\tserver started\n2024-03-12T12:03:45.000Z\tINFO\tserver stopped",
    "measurements": "2024-03-12 12:03:44\tsensor\t21.5\n2024-03-12 12:04:44\tsensor\t21.7\n2024-03-12 12:05:44\tkitchen\t19",
    "workers": "12:03:44 worker1 | started job\n12:03:45 worker2 | started job\n12:03:46 worker1 | done",
    "lines with a stamp": "[2024-03-12 12:03:44] Starting server\n  at foo\n[2024-03-12 12:03:45] Loading config\n  at bar\n"
    "[2024-03-12 12:03:46] Starting server\n  at baz",
    "a diary": "2024-03-12 12:03 Ann called about the flat\n2024-03-12 13:00 Bob came by\n2024-03-12 14:00 Ann left",
    "meals": "Breakfast  8:00 AM\nEggs\nLunch  12:00 PM\nSoup\nBreakfast  8:00 AM\nToast",
    "trains": "Paris  14:05\nPlatform 3\nLyon  15:00\nPlatform 4\nMarseille  18:00\nend",
    "appointments": "Ann Lee  2:05 PM\nBob Stone  2:30 PM\nAnn Lee  3:00 PM",
    "notes of meetings": "Standup — 03/12/2024 10:00 AM\nWe talked.\n\nRetro — 03/14/2024 3:00 PM\nIt went well.\n\n"
    "Standup — 03/15/2024 10:00 AM\nAgain.",
    "releases": "v1.2 — 2024-03-12 12:00\nFixes.\nv1.3 — 2024-04-12 12:00\nMore.",
    "a heading with a day": "## Ann — 03/12/2024 10:00 AM\nNotes of the talk.",
    "a tag of a page": "At 10:32 we met.\n<v Ann> hi\n<v Bob> hello",
    "tags": "<b> bold\n<i> slanted\n<b> more\n</b>",
    "arguments": "<file> the file to read\n<dir> the folder to write",
    "subtitles": "1\n00:01:02,000 --> 00:01:05,000\nAnn walks in.\n\n2\n00:01:06,000 --> 00:01:07,000\nShe waits.",
    "prose with times": "We met Ann at the station at\n 2:05 PM\nand Bob came later at\n 3:00 PM\nwith cake.",
    "appointments with notes": "Ann Lee  2:00 PM\nHaircut\nBob Stone  2:30 PM\nBeard trim",
    "appointments in brackets": "[10:00] Ann Lee\nHaircut\n[10:30] Bob Stone\nBeard trim",
    "steps in brackets": "[10:32:01] Starting server\nok\n[10:32:04] Loading config\nok\n[10:32:06] Starting server\nok",
    "one line in brackets": "[10:32 AM] Jane Doe\nHer notes were on the table.",
    "days and places": "Arrival 3/4/2024 10:32 AM\nGate 3\nDeparture 3/5/2024 11:07 AM\nGate 4",
    "a manual": "## User\nLogs in.\n## AI\nAnswers.\n## Setup\nInstall it.",
    "settings": "user:\n  name: ann\nassistant:\n  name: hal",
    "roles of a manual": "User:\nlogs in and waits\n\nAdmin:\nreads the logs",
    "code": "```\n12:03 <ann> hi\n12:04 <bob> yo\n```",
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_TALKS)
def test_what_only_looks_like_a_chat_is_none(kind: str) -> None:
    assert {each.speaker for each in statements(NO_TALKS[kind])} == {None}


@pytest.mark.parametrize(
    "note",
    ["Vet for Pika: rabies shot on 2 October.", "Will about Rome: in May.", "Rose with Ann: tea."],
)
def test_what_a_note_is_about_does_not_speak(note: str) -> None:
    assert [(each.speaker, each.text) for each in statements(note)] == [(None, note)]
