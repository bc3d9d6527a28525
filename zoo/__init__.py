"""Every robot of some packages from the Python index, loaded and compared with MuJoCo and Pinocchio: ``make zoo``.

Not part of the wheel. ``robots.py`` finds them, ``mjcf.py`` and ``urdf.py`` compare one, ``report.py`` makes the table.
"""
