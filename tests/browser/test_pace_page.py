"""How finely a player draws while something moves, on a clock of its own."""

from __future__ import annotations

RHYTHM = """gaps => {
    let clock = 1000;
    performance.now = () => clock;
    const pace = new Pace(0, () => {});
    pace.ask = () => {};
    pace.guess = 40;
    const found = [];
    for (const [gap, wait] of gaps) {
        clock += gap;
        pace.move();
        clock += wait;
        found.push(pace.density(500000));
    }
    pace.dispose();
    return found;
}"""


def test_what_moves_slowly_moves(scripts):
    """Changes 500 ms apart are one movement, drawn coarsely; after a rest the first is drawn as fine as when still."""
    found = scripts("pace.js").evaluate(RHYTHM, [[5000, 0], [5000, 300], [200, 300], [200, 600], [0, 900]])
    assert [density < 2 for density in found] == [True, False, True, True, False]
