"""What is touched: the hovered and the selected cube, and the inspector that says what a weight is and why it moved.

Open `touch` first: the state of pointer and selection, and all that is drawn because of them. `inspector` is the panel
of one weight, `who` its name, `value_history` how it moved, `explanation` where its gradient comes from; `input_swatch`
shows the sample whose way is drawn.
"""
