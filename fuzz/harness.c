/* libFuzzer with Python inside: every input goes to `execute` of the target, a module of this folder.

   The core is linked in, so that it is instrumented and nothing else is. `_harness` lets a target make an allocation
   fail and put a text where not one byte may be read behind it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sanitizer/asan_interface.h>

PyMODINIT_FUNC PyInit__core(void);

/* ---- allocations that fail ---- */

static long countdown; /* the allocation that fails, counted from now; 0 for none */

static int fails(void) { return countdown && !--countdown; }

/* what the core's own calls are compiled to */
void *harness_realloc(void *old, size_t size) { return fails() ? NULL : realloc(old, size); }
void *harness_calloc(size_t n, size_t size) { return fails() ? NULL : calloc(n, size); }

static PyMemAllocatorEx original[3];

static void *python_malloc(void *of, size_t size) {
    PyMemAllocatorEx *allocator = of;
    return fails() ? NULL : allocator->malloc(allocator->ctx, size);
}

static void *python_calloc(void *of, size_t n, size_t size) {
    PyMemAllocatorEx *allocator = of;
    return fails() ? NULL : allocator->calloc(allocator->ctx, n, size);
}

static void *python_realloc(void *of, void *old, size_t size) {
    PyMemAllocatorEx *allocator = of;
    return fails() ? NULL : allocator->realloc(allocator->ctx, old, size);
}

static void python_free(void *of, void *old) {
    PyMemAllocatorEx *allocator = of;
    allocator->free(allocator->ctx, old);
}

static void watch_allocations(void) {
    PyMemAllocatorDomain domains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
    for (int i = 0; i < 3; i++) {
        PyMem_GetAllocator(domains[i], &original[i]);
        PyMemAllocatorEx watched = {&original[i], python_malloc, python_calloc, python_realloc, python_free};
        PyMem_SetAllocator(domains[i], &watched);
    }
}

/* ---- the module for targets ---- */

PyDoc_STRVAR(call_doc, "call(which, function, *args)\n--\n\n"
                       "Call a function, in which an allocation fails: the first, the second, …; none if which is 0.");

static PyObject *call(PyObject *module, PyObject *args) {
    (void)module;
    long which = PyLong_AsLong(PyTuple_GET_ITEM(args, 0));
    PyObject *rest = PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args));
    if (!rest) return NULL;
    countdown = which;
    PyObject *result = PyObject_Call(PyTuple_GET_ITEM(args, 1), rest, NULL);
    countdown = 0;
    Py_DECREF(rest);
    return result;
}

PyDoc_STRVAR(sealed_doc, "sealed(text)\n--\n\nA copy as bytes, whose closing zero must not be read.");

static PyObject *sealed(PyObject *module, PyObject *text) {
    (void)module;
    Py_buffer view;
    if (PyObject_GetBuffer(text, &view, PyBUF_SIMPLE)) return NULL;
    PyObject *copy = PyBytes_FromStringAndSize(view.buf, view.len);
    /* those of one byte are shared */
    if (copy && view.len > 1) ASAN_POISON_MEMORY_REGION(PyBytes_AS_STRING(copy) + view.len, 1);
    PyBuffer_Release(&view);
    return copy;
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, call_doc},
    {"sealed", sealed, METH_O, sealed_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_harness", NULL, -1, methods, NULL, NULL, NULL, NULL};

static PyObject *make_harness(void) { return PyModule_Create(&definition); }

/* ---- what libFuzzer calls ---- */

static PyObject *execute;

static void give_up(const char *why) {
    fprintf(stderr, "%s\n", why);
    if (PyErr_Occurred()) PyErr_Print();
    fflush(NULL);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    PyImport_AppendInittab("_harness", make_harness);
    PyImport_AppendInittab("_instrumented_core", PyInit__core);
    /* the virtual environment is found beside its interpreter */
    if (PyStatus_Exception(PyConfig_SetBytesString(&config, &config.program_name, getenv("FUZZ_PYTHON"))) ||
        PyStatus_Exception(Py_InitializeFromConfig(&config)))
        give_up("Python does not start.");
    PyConfig_Clear(&config);
    PyObject *target = PyImport_ImportModule(getenv("FUZZ_TARGET"));
    if (!target || !(execute = PyObject_GetAttrString(target, "execute"))) give_up("The target cannot be imported.");
    Py_DECREF(target);
    watch_allocations();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)data, (Py_ssize_t)size, PyBUF_READ);
    PyObject *done = view ? PyObject_CallOneArg(execute, view) : NULL;
    if (!done) give_up("The target raised an error.");
    Py_DECREF(done);
    Py_DECREF(view);
    return 0;
}
