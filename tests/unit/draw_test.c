// SPDX-License-Identifier: BSD-3-Clause
// Tests of pictures of topologies: what is drawn, where, and what is written at it.
#include "topologies/draw.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/topology_rig.h"
#include "topologies/draw_file.h"

/* The caller frees it. */
static char *picture(struct topology *t, enum draw_format format)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(draw_topology(t, format, f), 0);
	fclose(f);
	return text;
}

static unsigned int times(const char *text, const char *word)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, word)); text++)
		nr++;
	return nr;
}

static bool boxes_meet(const struct draw_box *a, const struct draw_box *b)
{
	return abs(a->x - b->x) * 2 < a->width + b->width && a->y < b->y + b->height &&
	       b->y < a->y + a->height;
}

static void boxes_check(const struct draw *d, const char *path)
{
	for (unsigned int i = 0; i < d->nr_boxes; i++) {
		const struct draw_box *a = &d->box[i];

		if (a->x - a->width / 2 < 0 || a->y < 0 || a->x + a->width / 2 > d->width ||
		    a->y + a->height > d->height)
			fail_msg("%s: a box is not in the picture", path);
		for (unsigned int k = 0; k < i; k++)
			if (boxes_meet(a, &d->box[k]))
				fail_msg("%s: two boxes meet", path);
	}
}

static void draw_layout__boxes_stand_apart(void **state)
{
	static const char *const paths[] = {
		DATA "good/tree.yaml",	DATA "good/p4_pod.json",    DATA "good/scale.yaml",
		DATA "good/p4.json",	DATA "good/ranges.yaml",    DATA "good/faults.yaml",
		DATA "good/short.yaml", DATA "good/p4_spines.json", "topologies/two-level-4x8.yaml",
		"topologies/demo.yaml",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct topology *t = topology_rig_good(paths[i]);
		struct draw d;

		assert_int_equal(draw_open(&d, t), 0);
		assert_int_equal(draw_layout(&d), 0);
		boxes_check(&d, paths[i]);
		draw_close(&d);
		topology_free(t);
	}
}

static void draw_layout__links_of_trees_go_down(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/tree.yaml");
	struct draw d;

	(void)state;
	assert_int_equal(draw_open(&d, t), 0);
	assert_int_equal(draw_layout(&d), 0);
	assert_true(d.tree);
	assert_int_equal(d.nr_layers, 4);
	assert_int_equal(d.nr_links, 10);
	for (unsigned int i = 0; i < d.nr_links; i++) {
		const struct draw_link *l = &d.link[i];
		const struct draw_box *upper = &d.box[l->box[0]], *lower = &d.box[l->box[1]];

		assert_int_equal(l->x[0], lower->x);
		assert_int_equal(l->x[1], lower->x);
		assert_true(abs(l->x[0] - upper->x) * 2 <= upper->width);
		assert_true(upper->y + upper->height < lower->y);
		assert_int_equal(t->node[lower->node].parent, upper->node);
	}
	draw_close(&d);
	topology_free(t);
}

static void draw_open__many_hosts_are_one_box(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/scale.yaml");
	struct draw_text text;
	char port[DRAW_TEXT];
	struct draw d;

	(void)state;
	assert_int_equal(draw_open(&d, t), 0);
	assert_int_equal(d.nr_boxes, 64 + 65);
	assert_int_equal(d.nr_links, 64 + 64);
	assert_int_equal(d.box[1].nr, 16);
	draw_box_text(&d, &d.box[1], &text);
	assert_string_equal(text.line[0], "16 hosts");
	assert_string_equal(text.line[1], "h17 ... h32");
	assert_int_equal(d.link[1].nr, 16);
	draw_port_text(&d, &d.link[1], 0, port);
	assert_string_equal(port, "p1 ... p16");
	draw_close(&d);
	topology_free(t);
}

static void draw_open__stacks_from_17_hosts_on(void **state)
{
	struct topology *t = topology_rig_good("topologies/two-level-4x8.yaml");
	struct draw d;

	(void)state;
	assert_int_equal(draw_open(&d, t), 0);
	assert_int_equal(draw_layout(&d), 0);
	for (unsigned int i = 0; i < d.nr_boxes; i++)
		if (!t->node[d.box[i].node].is_switch)
			assert_int_equal(d.box[i].row, (d.box[i].up_port - 1) % 8);
	draw_close(&d);
	topology_free(t);
}

/* Of no tree: switches between switches are above those with hosts. */
static void draw_open__layers_of_any_graph(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/p4_pod.json");
	struct draw d;

	(void)state;
	assert_int_equal(draw_open(&d, t), 0);
	assert_false(d.tree);
	for (unsigned int i = 0; i < d.nr_boxes; i++) {
		const struct topology_node *n = &t->node[d.box[i].node];

		assert_int_equal(d.box[i].layer, !n->is_switch		      ? 2
						 : strcmp(n->name, "s3") == 0 ? 0
									      : 1);
	}
	draw_close(&d);
	topology_free(t);
}

static void draw_svg__says_ports_and_properties(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/faults.yaml");
	char *svg;

	(void)state;
	t->path = "a<b>&\"c\"\n.yaml";
	svg = picture(t, DRAW_SVG);
	assert_int_equal(strncmp(svg, "<svg xmlns=", 11), 0);
	assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
	assert_int_equal(times(svg, "<path "), 4);
	assert_non_null(strstr(svg, ">a&#60;b&#62;&#38;&#34;c&#34;?.yaml<"));
	assert_non_null(strstr(svg, ">p2<"));
	assert_non_null(strstr(svg, ">20M<"));
	assert_non_null(strstr(svg, ">1.5 ms<"));
	assert_non_null(strstr(svg, ">reorder 25%<"));
	assert_non_null(strstr(svg, ">burst 0.1%:10%<"));
	assert_non_null(strstr(svg, ">job sums: 1 rank on h1<"));
	free(svg);
	topology_free(t);
}

static void draw_svg__what_all_links_have_is_said_once(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/defaults_all.yaml");
	char *svg = picture(t, DRAW_SVG);

	(void)state;
	assert_non_null(strstr(svg, ">every link: queue 64KB, mtu 9000<"));
	assert_int_equal(times(svg, "mtu 9000"), 1);
	assert_int_equal(times(svg, ">10G<"), 4); // and 20M
	assert_int_equal(times(svg, ">loss 1%<"), 4);
	assert_non_null(strstr(svg, ">600 slots<"));
	assert_non_null(strstr(svg, ">memory 64K<"));
	free(svg);
	topology_free(t);
}

static void draw_dot__nodes_and_links(void **state)
{
	struct topology *t = topology_rig_good(DATA "good/tree.yaml");
	char *dot = picture(t, DRAW_DOT);

	(void)state;
	assert_int_equal(strncmp(dot, "graph topology {\n", 17), 0);
	assert_int_equal(times(dot, " -- "), 10);
	assert_int_equal(times(dot, "rank=same"), 4);
	assert_non_null(strstr(dot, "\t\"s0\" -- \"m2\" [taillabel=\"p2\", headlabel=\"p9\", "));
	assert_non_null(strstr(dot, "\t\"m2\" -- \"s3\" [taillabel=\"p1\", headlabel=\"p9\", "));
	assert_non_null(strstr(dot, "label=\"s0\\n10.0.0.200\\nrestarts\"];"));
	free(dot);
	topology_free(t);
}

static void draw_format_choose__by_name_or_option(void **state)
{
	enum draw_format f;

	(void)state;
	assert_int_equal(draw_format_choose(NULL, NULL, &f), 0);
	assert_int_equal(f, DRAW_DOT);
	assert_int_equal(draw_format_choose(NULL, "a.svg", &f), 0);
	assert_int_equal(f, DRAW_SVG);
	assert_int_equal(draw_format_choose(NULL, "a.dot", &f), 0);
	assert_int_equal(f, DRAW_DOT);
	assert_int_equal(draw_format_choose("dot", "a.svg", &f), 0);
	assert_int_equal(f, DRAW_DOT);
	assert_int_equal(draw_format_choose("svg", NULL, &f), 0);
	assert_int_equal(f, DRAW_SVG);
	assert_int_equal(draw_format_choose("png", "a.svg", &f), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draw_layout__boxes_stand_apart),
		cmocka_unit_test(draw_layout__links_of_trees_go_down),
		cmocka_unit_test(draw_open__many_hosts_are_one_box),
		cmocka_unit_test(draw_open__stacks_from_17_hosts_on),
		cmocka_unit_test(draw_open__layers_of_any_graph),
		cmocka_unit_test(draw_svg__says_ports_and_properties),
		cmocka_unit_test(draw_svg__what_all_links_have_is_said_once),
		cmocka_unit_test(draw_dot__nodes_and_links),
		cmocka_unit_test(draw_format_choose__by_name_or_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
