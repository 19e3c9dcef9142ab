"""When a frame may be sent: thirty a second, two unanswered, none queued."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz.view.cell.channel import BUDGET, MOST_PLACES, PATIENCE, RATE, UNANSWERED, Channel

BEAT = 1.001 / RATE


class World:
    def __init__(self):
        self.now, self.sent = 100.0, []
        self.channel = Channel(lambda content, buffers: self.sent.append((content, buffers)), lambda: self.now)

    def offer(self, parts=None, size=4):
        return self.channel.offer({"step": 1}, parts or {}, [bytes(size)])


def test_nobody_is_sent_anything():
    world = World()
    assert not world.channel.free
    assert not world.channel.watched


def test_who_is_mute_says_nothing_more():
    world = World()
    world.channel.ready("page")
    world.offer()
    world.channel.mute()
    world.channel.tell({"kind": "over"})
    world.now += 1
    world.channel.answered("page", 1)
    world.offer()
    assert [content["number"] for content, *_ in world.sent] == [1]


def test_of_too_many_places_those_heard_longest_ago_are_given_up():
    world = World()
    for number in range(10 * MOST_PLACES):
        world.now += 0.001
        world.channel.ready(f"place {number}")
        world.channel.ready("mine")
    assert world.channel.places == MOST_PLACES
    world.offer()
    world.channel.answered("mine", 1)
    assert world.channel.watched


def test_two_frames_are_on_their_way_and_the_third_waits_for_an_answer():
    world = World()
    world.channel.ready("a")
    for _ in range(UNANSWERED):
        assert world.channel.free
        world.offer()
        assert not world.channel.free  # also not before a thirtieth of a second has passed
        world.now += BEAT
    assert not world.channel.free
    world.channel.answered("a", 1)
    assert world.channel.free


def test_the_slower_of_two_places_sets_the_pace_until_it_says_nothing_any_more():
    world = World()
    world.channel.ready("fast")
    world.channel.ready("slow")
    for number in (1, 2):
        world.offer()
        world.channel.answered("fast", number)
        world.now += BEAT
    assert not world.channel.free
    world.now += PATIENCE
    assert world.channel.free  # a tab in the background is waited for no longer
    world.offer()
    world.channel.answered("fast", 3)
    world.now += BEAT
    world.channel.answered("slow", 3)
    assert world.channel.free


def test_where_nobody_answers_nothing_is_sent_until_somebody_speaks():
    world = World()
    world.channel.ready("a")
    world.offer()
    world.now += PATIENCE + 1
    assert not world.channel.free
    assert not world.channel.watched
    world.channel.answered("a", 1)
    assert world.channel.free


def test_what_was_lost_with_a_socket_is_sent_again():
    world = World()
    world.channel.ready("a")
    world.offer({"head": 1, "time": 5})
    world.channel.answered("a", 1)
    world.now += 1
    world.offer({"head": 2, "time": 5})  # lost on the way
    world.now += 1
    world.channel.ready("a")  # the same place, after its connection came back
    assert world.channel.new
    world.offer({"head": 2, "time": 5})
    assert world.sent[-1][0] == {"step": 1, "kind": "frame", "number": 3, "head": 2, "time": 5}


def test_parts_that_are_known_do_not_go_again():
    world = World()
    world.channel.ready("a")
    for number, parts in enumerate(({"head": 1, "why": None}, {"head": 1, "why": [2]}, {"head": 1, "why": None}), 1):
        world.offer(parts)
        world.channel.answered("a", number)
    bare = [{k: v for k, v in content.items() if k in ("head", "why")} for content, _ in world.sent]
    assert bare == [{"head": 1}, {"why": [2]}, {"why": None}]


def test_what_went_there_and_back_while_nobody_answered_is_told():
    world = World()
    world.channel.ready("a")
    world.offer({"shows": "weight"})
    world.channel.answered("a", 1)
    world.offer({"shows": "gradient"})  # on its way
    world.offer({"shows": "weight"})
    assert world.sent[-1][0]["shows"] == "weight"


def test_a_tab_from_the_background_is_told_everything_anew():
    world = World()
    world.channel.ready("a")
    world.channel.ready("hidden")
    world.offer({"shows": "weight"})
    for place in ("a", "hidden"):
        world.channel.answered(place, 1)
    world.offer({"shows": "gradient"})
    world.now += PATIENCE
    world.channel.answered("a", 2)
    world.offer({"shows": "weight"})
    world.channel.answered("a", 3)
    world.channel.answered("hidden", 3)
    assert world.channel.new or "shows" in world.sent[-1][0]


def test_large_frames_come_less_often():
    world = World()
    world.channel.ready("a")
    world.offer(size=4_000_000)
    assert world.channel.pace == pytest.approx(BUDGET / 4e6)
    world.channel.answered("a", 1)
    world.now += BEAT
    assert not world.channel.free
    world.now += 4e6 / BUDGET
    assert world.channel.free


@pytest.mark.parametrize("number", [-1, 0, 7, 10**30])
def test_answers_to_frames_that_were_never_sent_change_nothing(number):
    world = World()
    world.channel.ready("a")
    world.offer()
    world.offer()
    world.now += 0.5
    world.channel.answered("a", number)
    world.channel.answered("stranger", 2)
    assert not world.channel.free


EVENTS = st.tuples(st.sampled_from(["ready", "answer", "gone", "long", "beat", "beat", "frame", "frame"]),
                   st.sampled_from("abc"))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=60))
def test_no_place_that_answers_owes_more_than_two_and_each_has_all_that_is(events):
    """A model of three pages that lose nothing: after each frame every one has its parts, drawn or not."""
    world = World()
    owed, has, heard = {}, {}, {}
    for turn, (event, place) in enumerate(events):
        if event == "ready":
            world.channel.ready(place)
            owed[place], has[place], heard[place] = [], {}, world.now
        elif event == "gone":
            world.channel.gone(place)
            owed.pop(place, None)
        elif event == "answer" and owed.get(place):
            world.channel.answered(place, owed[place].pop(0))
            heard[place] = world.now
        elif event == "beat":
            world.now += BEAT
        elif event == "long":
            world.now += PATIENCE * 1.1
        elif event == "frame" and world.channel.free:
            before = {one: len(frames) for one, frames in owed.items()}
            now = {"a": turn // 2 % 3, "b": turn // 9 or None}
            number = world.offer(now)
            parts = {k: v for k, v in world.sent[-1][0].items() if k in now}
            for one, frames in owed.items():
                frames.append(number)
                has[one] |= parts  # as it comes, before it is drawn and answered
                if not before[one] or world.now - heard[one] < PATIENCE:
                    assert {name: has[one].get(name) for name in now} == now
            assert any(count < UNANSWERED for count in before.values())
