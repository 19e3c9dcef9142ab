"""When a frame may be sent: thirty a second, two unanswered, none queued."""

from hypothesis import given, settings
from hypothesis import strategies as st

from scalarviz.view.cell.channel import BUDGET, MOST_PLACES, PATIENCE, RATE, UNANSWERED, Channel


class World:
    """A channel with a clock of its own."""

    def __init__(self):
        self.now, self.sent = 100.0, []
        self.channel = Channel(lambda content, buffers: self.sent.append(content), lambda: self.now)

    def offer(self, parts=None, size=4):
        return self.channel.offer({"step": 1}, parts or {}, [bytes(size)])


SIZES = (4, 4_000_000)
WHAT = ("ready", "here", "gone", "long", *("answer", "beat", "frame") * 3)
EVENTS = st.tuples(st.sampled_from(WHAT), st.sampled_from("aab"))


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, min_size=20, max_size=80))
def test_frames_go_when_all_that_answer_owe_less_than_two_and_each_has_all_that_is(events):
    """A model of two pages: when a frame may go, who looks, and that then each has its parts, drawn or not."""
    world, last, pace = World(), float("-inf"), RATE
    owed, has, heard = {}, {}, {}
    for turn, (event, place) in enumerate(events):
        if event == "ready":  # or it comes back, and knows nothing
            world.channel.ready(place)
            owed[place], has[place], heard[place], last = [], {}, world.now, float("-inf")
        elif event == "here":
            world.channel.mark_present(place)
            if place in owed:  # what was on its way to it was lost
                has[place] = {} if owed[place] else has[place]
                owed[place], heard[place] = [], world.now
        elif event == "gone":
            world.channel.remove_place(place)
            owed.pop(place, None)
        elif event == "answer" and owed.get(place):
            world.channel.answered(place, owed[place].pop(0))
            heard[place] = world.now
        elif event in ("beat", "long"):
            world.now += {"beat": 1.001 / RATE, "long": PATIENCE * 1.1}[event]
        looks = [one for one, frames in owed.items() if not frames or world.now - heard[one] < PATIENCE]
        free = bool(looks) and all(len(owed[one]) < UNANSWERED for one in looks) and world.now - last >= 1 / pace
        assert (world.channel.free, world.channel.watched) == (free, bool(looks))
        if event == "frame" and free:
            now, size = {"a": turn // 3 % 2, "b": turn // 9 or None}, SIZES[turn % 5 == 0]
            number, last, pace = world.offer(now, size), world.now, min(RATE, BUDGET / size)
            for one, frames in owed.items():
                frames.append(number)
                has[one] |= {name: part for name, part in world.sent[-1].items() if name in now}
            assert all({name: has[one].get(name) for name in now} == now for one in looks)


def test_parts_that_are_known_do_not_go_again():
    world = World()
    world.channel.ready("a")
    for parts in ({"head": 1, "why": None}, {"head": 1, "why": [2]}, {"head": 1, "why": None}):
        world.channel.answered("a", world.offer(parts))
    bare = [{k: v for k, v in content.items() if k in ("head", "why")} for content in world.sent]
    assert bare == [{"head": 1}, {"why": [2]}, {"why": None}]


def test_of_too_many_places_those_heard_longest_ago_are_given_up():
    world = World()
    for number in range(10 * MOST_PLACES):
        world.now += 0.001
        world.channel.ready(f"place {number}")
        world.channel.ready("mine")
    assert world.channel.places == MOST_PLACES
    for _ in range(2):
        world.offer()
    world.now += 0.5
    for place, number in (("mine", -1), ("mine", 7), ("mine", 10**30), ("stranger", 2)):  # were never sent
        world.channel.answered(place, number)
    assert not world.channel.free
    world.channel.answered("mine", 1)
    assert world.channel.watched
