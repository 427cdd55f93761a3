/* A QEMU plugin that counts every instruction from mark_start to the next of the other marks (boards/report.c).
 *
 * qemu-... -plugin count.so,start=ADDRESS,learn=ADDRESS,score=ADDRESS,... with hexadecimal addresses. At the end it
 * prints a line for each mark: name, mean, most. It uses version 1 of QEMU's interface, which is declared here because
 * Debian has no header of it.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
enum { MOST_MARKS = 8, ADD_U64 = 0, NO_REGISTERS = 0 };

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
PUBLIC int qemu_plugin_version = 1;
PUBLIC int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *instruction, int operation, void *counter,
                                                uint64_t by);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction, void (*call)(unsigned, void *),
                                            int flags, void *argument);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *argument);

typedef struct {
    char name[16];
    uint64_t address;
    uint64_t n;
    uint64_t sum;
    uint64_t most;
} mark;

static mark marks[MOST_MARKS];
static int n_marks;
static uint64_t executed, started;

static void at_mark(unsigned cpu, void *argument)
{
    mark *const m = (mark *)argument;
    const uint64_t n = executed - started;

    (void)cpu;
    if (m == marks) {
        started = executed;
        return;
    }
    m->n++;
    m->sum += n;
    m->most = n > m->most ? n : m->most;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    const size_t n = qemu_plugin_tb_n_insns(block);
    size_t i;
    int j;

    (void)id;
    for (i = 0; i < n; i++) {
        struct qemu_plugin_insn *const instruction = qemu_plugin_tb_get_insn(block, i);

        for (j = 0; j < n_marks; j++)
            if (qemu_plugin_insn_vaddr(instruction) == marks[j].address)
                qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_mark, NO_REGISTERS, &marks[j]);
        qemu_plugin_register_vcpu_insn_exec_inline(instruction, ADD_U64, &executed, 1);
    }
}

static void at_end(plugin_id id, void *argument)
{
    int j;

    (void)id;
    (void)argument;
    for (j = 1; j < n_marks; j++)
        if (marks[j].n > 0)
            fprintf(stderr, "%s instructions mean %" PRIu64 " most %" PRIu64 "\n", marks[j].name,
                    marks[j].sum / marks[j].n, marks[j].most);
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
    int i;

    (void)info;
    for (i = 0; i < argc && n_marks < MOST_MARKS; i++) {
        const char *const equals = strchr(argv[i], '=');

        if (equals == NULL || (size_t)(equals - argv[i]) >= sizeof marks->name)
            return -1;
        memcpy(marks[n_marks].name, argv[i], (size_t)(equals - argv[i]));
        marks[n_marks++].address = strtoull(equals + 1, NULL, 16) & ~UINT64_C(1); /* Thumb */
    }
    if (n_marks == 0 || strcmp(marks[0].name, "start") != 0)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, at_end, NULL);
    return 0;
}
