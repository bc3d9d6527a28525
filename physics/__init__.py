"""Cases of rigid-body physics with exact answers, as functions that measure the simulator.

``featherweight scoreboard`` runs them beside other simulators, the tests assert them, docs/scoreboard.md shows them.
"""
