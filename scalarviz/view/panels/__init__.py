"""The side column, the strip below and what lies over the picture: loss, pictures, legend, inspector, keys.

Open `side` first: it draws the column's panels; each panel stands in the file of its name. `touch` answers the pointer,
`explanation` says where a gradient comes from, `wording` of which samples and which moment a number is.
"""
