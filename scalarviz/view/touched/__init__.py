"""What is touched: the hovered and the selected cubes, and the inspector that says what a weight is and why it moves.

Open `touch` first: the state of pointer and selection, all that is drawn because of them, and where the inspector
stands. `inspector` draws it, small below the cubes or as a column; `column` chooses which sections there is room for.

* who: `selection` is a weight's name, the outline that it stands in, and several weights
* why: `account` is the coming step for one weight as plain numbers, `opening` asks a run for it; `explanation` is the
  line about the last step where nobody asks
* how it looks: `page` is a column of sections with what a click on them does, `ledger` are terms that add up, `plots`
  how it moved
* `input_swatch` shows the sample whose way is drawn
"""
