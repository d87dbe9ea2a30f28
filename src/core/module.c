/* The Python module: reads plain TREC text, joins runs with judgments, adds up per query, searches postings.

   Every function that reads input returns None if the input is not plain: an irregular line, an invalid number, a
   duplicate document, an id that is not text. Python then reads the same input and words the error or note, so that
   messages are written in one place. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "join_dicts.h"
#include "join_text.h"
#include "postings.h"
#include "qrels.h"
#include "sums.h"

static PyMethodDef methods[] = {
    {"join_lines", join_lines, METH_VARARGS, join_lines_doc},
    {"join_dict", join_dict, METH_VARARGS, join_dict_doc},
    {"read_judgments", read_judgments, METH_O, read_judgments_doc},
    {"gather_queries", gather_queries, METH_O, gather_queries_doc},
    {"sums", sums, METH_VARARGS, sums_doc},
    {"quotients", quotients, METH_VARARGS, quotients_doc},
    {"running", running, METH_VARARGS, running_doc},
    {"shares", shares, METH_VARARGS, shares_doc},
    {"search", search, METH_VARARGS, search_doc},
    {NULL, NULL, 0, NULL},
};

/* Python's hashes of strings differ between processes. */
static int seed_hashes(void) {
    PyObject *text = PyUnicode_FromString("cranfield.base._core");
    if (!text) return -1;
    hash_seed = (uint64_t)PyObject_Hash(text);
    Py_DECREF(text);
    return 0;
}

static int execute(PyObject *module) {
    State *state = PyModule_GetState(module);
    if (seed_hashes()) return -1;
    compute_powers_of_five();
    state->judgments = (PyTypeObject *)PyType_FromModuleAndSpec(module, &Judgments_spec, NULL);
    if (!state->judgments) return -1;
    return PyModule_AddObjectRef(module, "Judgments", (PyObject *)state->judgments);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    Py_VISIT(state->judgments);
    return 0;
}

static int clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->judgments);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "Reads plain TREC text, joins runs with judgments, searches postings.",
    sizeof(State),         methods, slots,
    traverse,              clear,   NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
