"""The JavaScript engine: it prints what a run recorded as a program for browsers, where training goes on."""
