# Runs in MicroPython, in the page: executes a cell, and says what came out.
import io
import sys


def run_cell(code, name, names):
    """Run a cell in the dict `names`, and print the value of its last expression.

    Returns `None`, or the text of the error with the places it passed through.
    """
    try:
        for part in split(code):
            names["_"] = None
            exec(compile(part, name, "exec"), names)
        value = names.pop("_")
        if value is not None:
            print(repr(value))
    except BaseException as error:
        return traced(error)


def traced(error):
    text = io.StringIO()
    sys.print_exception(error, text)
    return text.getvalue()


def split(code):
    """The code in one part; or the statements before the last one, if that is an expression, and
    the last one, which sets `_` to its value. All lines keep their numbers.
    """
    lines = code.split("\n")
    for i in range(len(lines) - 1, -1, -1):
        if lines[i].strip() and lines[i][0] not in " \t#)]}":
            head, last = "\n".join(lines[:i]), "\n".join(lines[i:])
            value = "\n" * i + "_ = (" + last + "\n)"
            if compiles(value) and compiles(head):
                return [head, value]
            if compiles(last):
                break  # a statement that is no expression
    return [code]


def compiles(code):
    try:
        compile(code, "cell", "exec")
    except SyntaxError:
        return False
    return True


def check_answers(code, name, check, function, answers):
    """Run the reader's code, and the check of an exercise with the answers that it defines.

    Returns `None` if they are right, or what is wrong.
    """
    import page_checking

    names = {"__name__": "__main__"}
    error = run_cell(code, name, names)
    if error:
        return error
    missing = [answer for answer in answers if answer not in names]
    if missing:
        return "Wrong: your code defines no " + ", ".join(missing)
    checks = {key: getattr(page_checking, key) for key in ("Wrong", "compare", "expect", "math")}
    exec(compile(check, "the check", "exec"), checks)
    try:
        checks[function](*[names[answer] for answer in answers])
    except page_checking.Wrong as wrong:
        return "Wrong: " + str(wrong)
    except NotImplementedError:
        return "Wrong: nothing yet: the stub is still there"
    except BaseException as error:
        return traced(error)
