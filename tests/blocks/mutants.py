#!/usr/bin/env python3
"""Does the equality test notice a bug? Each mutant is one small bug, in the RTL or in its C++ twin, put into a copy of the
sources; it is caught when the test of its block finds a difference. One that does not build is an error, not a catch.

    tests/blocks/mutants.py [NAME...] [--seed N]
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from thalweg.launch.locks import alone
from thalweg.rtl.project import Project, Result

ROOT = Path(__file__).resolve().parents[2]
RUNS, CYCLES = 20, 10_000


@dataclass(frozen=True)
class Mutant:
    name: str
    block: str
    set: str
    file: str
    old: str  #: occurs once in the file
    new: str

    @property
    def side(self) -> str:
        return self.file.split("/")[0]


RTL = [
    Mutant("rtl_fifo_pointer_stays", "common/fifo", "depth5", "rtl/common/tw_fifo.sv",
           "if (pop) read_q", "if (pop && !push) read_q"),
    Mutant("rtl_fifo_one_short", "common/fifo", "depth5", "rtl/common/tw_fifo.sv",
           "count_q != CountWidth'(Depth)", "count_q != CountWidth'(Depth - 1)"),
    Mutant("rtl_async_fifo_sees_too_soon", "common/async_fifo", "flit32", "rtl/common/tw_async_fifo.sv",
           "write_seen != read_gray_q", "write_sync.stages_q[0] != read_gray_q"),
    Mutant("rtl_level_sync_late", "common/level_sync", "number", "rtl/common/tw_level_sync.sv",
           "stages_q[Stages-2:0], level_i", "stages_q[Stages-2:0], stages_q[0]"),
    Mutant("rtl_pulse_sync_again", "common/pulse_sync", "into_slower", "rtl/common/tw_pulse_sync.sv",
           "wr_pulse_i && wr_ready_o", "wr_pulse_i"),
    Mutant("rtl_reset_sync_too_short", "common/reset_sync", "two", "rtl/common/tw_reset_sync.sv",
           "if (rst_i) stages_q <= '1;", "if (rst_i) stages_q <= 1;"),
    Mutant("rtl_skid_drops_spare", "common/skid", "bit", "rtl/common/tw_skid.sv",
           "<= spare_valid_q || push", "<= push"),
    Mutant("rtl_arbiter_lowest_first", "common/arbiter", "four", "rtl/common/tw_arbiter.sv",
           "at_or_after != 0 ? at_or_after : request_i", "request_i"),
    Mutant("rtl_arbiter_moves_unserved", "common/arbiter", "four", "rtl/common/tw_arbiter.sv",
           "else if (served_i)", "else if (winner_valid_o)"),
    Mutant("rtl_flow_credit_lost", "link/flow", "credits8", "rtl/link/tw_flow.sv",
           "CreditWidth'(back_i) - CreditWidth'(send_i)", "CreditWidth'(back_i && !send_i) - CreditWidth'(send_i)"),
    Mutant("rtl_flow_stop_late", "link/flow", "margin", "rtl/link/tw_flow.sv",
           "held_d >= HeldWidth", "held_d > HeldWidth"),
    Mutant("rtl_flow_count_leaks", "link/flow", "credits8", "rtl/link/tw_flow.sv",
           " - HeldWidth'(pop_i)", ""),
    Mutant("rtl_rate_too_slow", "link/rate", "third", "rtl/link/tw_rate.sv",
           "level_q >= Width'(Cycles)", "level_q > Width'(Cycles)"),
    Mutant("rtl_crc32_start", "common/crc32", "frame", "rtl/common/tw_crc32.sv",
           "crc = '1;", "crc = '0;"),
    Mutant("rtl_crc32_bit_left_out", "common/crc32", "frame", "rtl/common/tw_crc32.sv",
           "in_data_i & Rows[b]", "in_data_i[Width-2:0] & Rows[b][Width-2:0]"),
    Mutant("rtl_replay_takes_twice", "link/replay", "short", "rtl/link/tw_replay.sv",
           "peer_word_valid_i && ahead == 0", "peer_word_valid_i && (ahead == 0 || &ahead)"),
    Mutant("rtl_replay_epoch_ignored", "link/replay", "short", "rtl/link/tw_replay.sv",
           "peer_valid_i && peer_epoch_i == request_q", "peer_valid_i"),
    Mutant("rtl_replay_goes_back_too_far", "link/replay", "short", "rtl/link/tw_replay.sv",
           "next_q  <= base_d", "next_q  <= base_q"),
    Mutant("rtl_codec_check_ignored", "link/replay_codec", "preset", "rtl/link/tw_replay_codec.sv",
           "in_valid_q && in_crc == in_check_q", "in_valid_q && in_crc[31:1] == in_check_q[31:1]"),
    Mutant("rtl_codec_turn_too_long", "link/replay_codec", "odd", "rtl/link/tw_replay_codec.sv",
           "turn_q == VcBits'(Vcs - 1)", "turn_q == '1"),
    Mutant("rtl_codec_silence_is_go", "link/replay_codec", "margin", "rtl/link/tw_replay_codec.sv",
           "good ? in_q.flow : '1", "good ? in_q.flow : back_q"),
    Mutant("rtl_context_interval_closed", "mpi_fpga/context_table", "direct", "rtl/mpi_fpga/tw_context_table.sv",
           "16'(label - first) < count", "16'(label - first) <= count"),
    Mutant("rtl_context_last_not_modulo", "mpi_fpga/context_table", "direct", "rtl/mpi_fpga/tw_context_table.sv",
           "vertex.label == '0 ? vertex.ranks : vertex.label", "vertex.label"),
    Mutant("rtl_context_ring_ends_late", "mpi_fpga/context_table", "direct", "rtl/mpi_fpga/tw_context_table.sv",
           "lookup_label_i == following ?", "lookup_label_i == vertex.label ?"),
    Mutant("rtl_injector_nothing_urgent", "mpi_fpga/injector", "margin", "rtl/mpi_fpga/tw_injector.sv",
           "urgent != '0 ? urgent : src_valid_i", "src_valid_i"),
    Mutant("rtl_injector_edge_forgotten", "mpi_fpga/injector", "margin", "rtl/mpi_fpga/tw_injector.sv",
           "sent_q[source] | lowest", "lowest"),
    Mutant("rtl_pick_tried_too_often", "mpi_fpga/pick", "node", "rtl/mpi_fpga/tw_pick.sv",
           "else left_q <= left_q - CountWidth'(takes);", ""),
    Mutant("rtl_pick_overtakes", "mpi_fpga/pick", "node", "rtl/mpi_fpga/tw_pick.sv",
           "waiting ? first : early_process_i[q]", "early_valid_i[q] ? early_process_i[q] : first"),
    Mutant("rtl_pick_unit_in_a_hurry", "mpi_fpga/pick", "node", "rtl/mpi_fpga/tw_pick.sv",
           "kept_q && cycles_q == '0", "kept_q"),
    Mutant("rtl_slots_final_is_not_due", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "(step_final_i || owed", "(owed"),
    Mutant("rtl_slots_told_is_owed_again", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "told[k] && told_row[k%Ports] == row_i", "1'b0"),
    Mutant("rtl_slots_other_packets_are_kept", "mpi_fpga/slots", "many", "rtl/mpi_fpga/tw_slots.sv",
           "header.collective != CollectiveAlltoall", "1'b1"),
    Mutant("rtl_slots_taken_of_another_link", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "takes[k] && bank[k] == LinkWidth'(l)", "takes[k]"),
    Mutant("rtl_slots_head_of_the_first_place", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "shown_base[head_edge_i] + AddressWidth'(shown.offset)", "shown_base[head_edge_i]"),
    Mutant("rtl_slots_any_flit_arrives_empty", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "arrives[l] && arrived_there", "write_valid[l] && arrived_there"),
    Mutant("rtl_slot_bank_second_port_idle", "mpi_fpga/slot_bank", "many", "rtl/mpi_fpga/tw_slot_bank.sv",
           "q == 0 && free[0] || q == 1 && !free[0]", "q == 0 && free[0]"),
    Mutant("rtl_slot_bank_third_packet_stays", "mpi_fpga/slot_bank", "many", "rtl/mpi_fpga/tw_slot_bank.sv",
           "if (read[q]) packets_q", "if (read[q] && place == 0) packets_q"),
    Mutant("rtl_slot_waits_late_waits_on", "mpi_fpga/slot_waits", "small", "rtl/mpi_fpga/tw_slot_waits.sv",
           "wait_valid_i && late_valid_o == 0", "wait_valid_i"),
    Mutant("rtl_slot_waits_two_links_wake", "mpi_fpga/slot_waits", "small", "rtl/mpi_fpga/tw_slot_waits.sv",
           "first[l] = 1'b0", "first[l] = 1'b1"),
    Mutant("rtl_slots_told_while_it_is_read", "mpi_fpga/slots", "many", "rtl/mpi_fpga/tw_slots.sv",
           "queued && (left & ~others & held_own) == '0", "queued"),
    Mutant("rtl_slow_reads_a_cycle_short", "mpi_fpga/slow_reads", "many", "rtl/mpi_fpga/tw_slow_reads.sv",
           "left_q[u] <= cycles - TimeBits'(1);", "left_q[u] <= cycles - TimeBits'(2);"),
    Mutant("rtl_slow_reads_any_place_is_held", "mpi_fpga/slow_reads", "many", "rtl/mpi_fpga/tw_slow_reads.sv",
           "left_q[u] != '0 && place_q[u] == ask_place_i[q]", "left_q[u] != '0"),
    Mutant("rtl_stages_filled_while_it_is_read", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "(to_i == '0 || !held[own_i][place_i])", "1'b1"),
    Mutant("rtl_stages_room_is_left_where_another_unit_filled", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "moves ? whole[step_unit_i][comes_to.place] : reserved", "reserved"),
    Mutant("rtl_stages_stays_where_another_comes", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "'{1'b0, home[s].bank,", "'{1'b1, home[s].bank,"),
    Mutant("rtl_stages_taken_of_another_unit_stays", "mpi_fpga/stages", "odd", "rtl/mpi_fpga/tw_stages.sv",
           "if (takes || moves) taken_q", "if (takes) taken_q"),
    Mutant("rtl_stages_higher_one_is_whole_at_once", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "later_q <= '{comes && two, result_last_i[u],", "later_q <= '{comes && two, 1'b1,"),
    Mutant("rtl_stages_higher_operand_is_the_lower", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "step_operand_i + OperandWidth'(1)", "step_operand_i"),
    Mutant("rtl_stages_waits_at_the_lowest", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "lowest(from_i & ~there)", "lowest(from_i)"),
    Mutant("rtl_progress_turn_begins_behind", "mpi_fpga/progress", "few", "rtl/mpi_fpga/tw_progress.sv",
           "next.done = at.turn_done;", "next.done = at.done;"),
    Mutant("rtl_progress_start_unseen", "mpi_fpga/progress", "few", "rtl/mpi_fpga/tw_progress.sv",
           "started_q[process_q] != begun_q[process_q];", "1'b0;"),
    Mutant("rtl_progress_short_streams_alike", "mpi_fpga/progress", "few", "rtl/mpi_fpga/tw_progress.sv",
           "20'd8 << (k - 1)", "20'd8 << k"),
    Mutant("cpp_progress_last_packet_is_full", "mpi_fpga/progress", "few", "sim/mpi_fpga/progress.hpp",
           "layout_.flits(elements)", "layout_.flits(layout_.elements_per_packet())"),
    Mutant("rtl_starter_does_not_wait", "mpi_fpga/starter", "few", "rtl/mpi_fpga/tw_starter.sv",
           "(!waiting_q || answered)", "1'b1"),
    Mutant("rtl_starter_others_first", "mpi_fpga/starter", "few", "rtl/mpi_fpga/tw_starter.sv",
           "&& !busy_i &&", "&&"),
    Mutant("cpp_starter_third_process_of_a_tree", "mpi_fpga/starter", "few", "sim/mpi_fpga/starter.hpp",
           "processes = 2;", "processes = 3;"),
    Mutant("rtl_openings_wait_for_no_reader", "mpi_fpga/openings", "few", "rtl/mpi_fpga/tw_openings.sv",
           "wire begins_found = idle_i && !comes && found && !reading_i[look_edge_o];",
           "wire begins_found = idle_i && !comes && found;"),
    Mutant("rtl_openings_last_link_first", "mpi_fpga/openings", "few", "rtl/mpi_fpga/tw_openings.sv",
           "for (int unsigned l = Links; l > 0; l--) begin\n      if (idle_i",
           "for (int unsigned l = 1; l <= Links; l++) begin\n      if (idle_i"),
    Mutant("cpp_openings_any_sequence", "mpi_fpga/openings", "few", "sim/mpi_fpga/openings.hpp",
           "head.sequence == row.sequence", "true"),
    Mutant("rtl_precedence_own_place_holds", "mpi_fpga/precedence", "few", "rtl/mpi_fpga/tw_precedence.sv",
           "p >= 32'(next) && p < 32'(held_place_i)", "p >= 32'(next) && p <= 32'(held_place_i)"),
    Mutant("rtl_precedence_last_step_alone", "mpi_fpga/precedence", "few", "rtl/mpi_fpga/tw_precedence.sv",
           "adds | used_q[add_number]", "adds"),
    Mutant("cpp_precedence_turn_stays_at_loading", "mpi_fpga/precedence", "few", "sim/mpi_fpga/precedence.hpp",
           "rows_[row].next = 0;", ""),
    Mutant("rtl_dispatch_edge_moves", "mpi_fpga/dispatch", "few", "rtl/mpi_fpga/tw_dispatch.sv",
           "&& edge_queued[k] && 32'(edge_unit[k]) != u", "&& 1'b0"),
    Mutant("rtl_dispatch_results_meet", "mpi_fpga/dispatch", "few", "rtl/mpi_fpga/tw_dispatch.sv",
           "output_q[u] <= step_latency_i", "1'b1"),
    Mutant("rtl_dispatch_own_unit_is_nothing", "mpi_fpga/dispatch", "few", "rtl/mpi_fpga/tw_dispatch.sv",
           "from_own[v] == from_own[u] ? v < u : from_own[v]", "v < u"),
    Mutant("cpp_dispatch_first_unit_always", "mpi_fpga/dispatch", "few", "sim/mpi_fpga/dispatch.hpp",
           "unit.queued < units_[*choice.unit].queued", "false"),
    Mutant("rtl_packet_store_chain_broken", "mpi_fpga/packet_store", "few", "rtl/mpi_fpga/tw_packet_store.sv",
           "if (arrives && !is_first) next_q", "if (arrives) next_q"),
    Mutant("rtl_packet_store_forgets_one_behind_the_last", "mpi_fpga/packet_store", "few", "rtl/mpi_fpga/tw_packet_store.sv",
           "== emptied_q[in_process_i] || takes_all", "== emptied_q[in_process_i]"),
    Mutant("cpp_packet_store_free_while_read", "mpi_fpga/packet_store", "few", "sim/mpi_fpga/packet_store.hpp",
           " && reader.at < reader.flits", " && reader.at == 0"),
    Mutant("rtl_uploads_late_waits_on", "mpi_fpga/uploads", "few", "rtl/mpi_fpga/tw_uploads.sv",
           "wait_i && !late_valid_o", "wait_i"),
    Mutant("rtl_uploads_woken_twice", "mpi_fpga/uploads", "few", "rtl/mpi_fpga/tw_uploads.sv",
           "else if (early_valid_o) ended_q[announce_process_i] <= begun_q[announce_process_i];", ""),
    Mutant("cpp_uploads_seen_at_once", "mpi_fpga/uploads", "few", "sim/mpi_fpga/uploads.hpp",
           "hears_ = announced();", "if ((hears_ = announced())) ++processes_[announced_.front()].there;"),
    Mutant("rtl_steps_start_where_it_was", "mpi_fpga/steps", "few", "rtl/mpi_fpga/tw_steps.sv",
           "if (come_valid_i && come_start_i) begun_q", "if (1'b0) begun_q"),
    Mutant("rtl_steps_former_one_known", "mpi_fpga/steps", "few", "rtl/mpi_fpga/tw_steps.sv",
           "emptied_q[process_q] <= filled_q[process_q];", ";"),
    Mutant("rtl_steps_not_passed_on", "mpi_fpga/steps", "few", "rtl/mpi_fpga/tw_steps.sv",
           "passed_q && passed_place_q == place ?", "1'b0 ?"),
    Mutant("rtl_relay_hole_in_a_queue", "mpi_fpga/relay", "tight", "rtl/mpi_fpga/tw_relay.sv",
           "!filled_q[here.row] || (leaves_last && taken == here.row)", "!filled_q[here.row]"),
    Mutant("rtl_relay_announcement_keeps_its_place", "mpi_fpga/relay", "tight", "rtl/mpi_fpga/tw_relay.sv",
           "if (announced) freed_here[ClassWidth'(way.route_class)] += CountWidth'(1);", ""),
    Mutant("rtl_relay_own_before_others", "mpi_fpga/relay", "even", "rtl/mpi_fpga/tw_relay.sv",
           "!announcement && (own_announces || packets == '0)", "!announcement"),
    Mutant("rtl_relay_long_queues_forgotten", "mpi_fpga/relay", "tight", "rtl/mpi_fpga/tw_relay.sv",
           "behind_read_q[PlaceWidth-1:0] != tail_q[follows_queue_q]", "1'b0"),
    Mutant("rtl_control_group_never_needed", "mpi_fpga/collective_control", "direct", "rtl/mpi_fpga/tw_collective_control.sv",
           "scan.stages[k].partial = reach[k+1];", "scan.stages[k].partial = 1'b0;"),
    Mutant("rtl_control_scatters_from_its_end", "mpi_fpga/collective_control", "indirect",
           "rtl/mpi_fpga/tw_collective_control.sv", "down[k] && !above && !from[k]", "down[k] && !from[k]"),
    Mutant("rtl_control_root_reads_itself", "mpi_fpga/collective_control", "direct", "rtl/mpi_fpga/tw_collective_control.sv",
           "plan.step.to_host = host && !ask_at_root_i;", "plan.step.to_host = host;"),
    Mutant("rtl_control_next_of_a_group_is_its_last", "mpi_fpga/collective_control", "preset",
           "rtl/mpi_fpga/tw_collective_control.sv", "n_1_q >= sums[g]", "n_1_q > sums[g]"),
    Mutant("rtl_route_class_not_kept", "switch/route", "torus", "rtl/switch/tw_route.sv",
           "entry.keep_class ? class_of(message_class, vc_i[l]) : entry.route_class", "entry.route_class"),
    Mutant("rtl_router_mask_ignored", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "+:Vcs] & allowed_q[i]", "+:Vcs]"),
    Mutant("rtl_router_turn_moves_ungranted", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           ".served_i(granted[p])", ".served_i(offered[p])"),
    Mutant("rtl_router_vc_not_replaced", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "4'(output_vc_q[offered_channel])", "4'(offered_vc[p])"),
    Mutant("rtl_router_link_not_asked", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "rate_ready && out_ready_i[o]", "rate_ready"),
    Mutant("rtl_router_ejects_heads_alone", "switch/vc_router", "local", "rtl/switch/tw_vc_router.sv",
           "<= ejects && !in_flit_i[p].tail", "<= 1'b0"),
    Mutant("rtl_router_not_reset", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "      waiting_q <= '0;\n", ""),
    Mutant("rtl_lane_sticky_lost", "reduce/lane", "fp64_sum", "rtl/reduce/parts/tw_fp_add.sv",
           "shifted[0] || lost != 0", "shifted[0]"),
    Mutant("rtl_lane_exact_difference_negative", "reduce/lane", "fp64_sum", "rtl/reduce/parts/tw_fp_add.sv",
           "if (zero_6_q && subtract_6_q) kind_7.sign = 1'b0;", ""),
    Mutant("rtl_lane_tie_down", "reduce/lane", "short", "rtl/reduce/parts/tw_fp_mul.sv",
           "(sum_8_q[2] || sum_8_q[0])", "sum_8_q[0]"),
    Mutant("rtl_lane_index_nan_first", "reduce/lane", "short", "rtl/reduce/parts/tw_order.sv",
           "return index.a_nan;", "return index.b_nan;"),
    Mutant("rtl_lane_carry_between_elements", "reduce/lane", "at_once", "rtl/reduce/parts/tw_integer.sv",
           "(i == 4 && bytes[3])", "i == 4"),
    Mutant("rtl_packetizer_rest_of_a_word_kept", "mpi_fpga/packetizer", "stream", "rtl/mpi_fpga/tw_packetizer.sv",
           "      held_q <= '0;\n", ""),
    Mutant("rtl_packetizer_wide_like_others", "mpi_fpga/packetizer", "stream", "rtl/mpi_fpga/tw_packetizer.sv",
           "wide_q ? 6'd16 : 6'd24", "6'd24"),
    Mutant("rtl_depacketizer_rest_of_a_packet_dropped", "mpi_fpga/depacketizer", "packets", "rtl/mpi_fpga/tw_depacketizer.sv",
           "draining_q  <= ends && !all_go;", "draining_q  <= 1'b0;"),
    Mutant("rtl_depacketizer_padding_kept", "mpi_fpga/depacketizer", "packets", "rtl/mpi_fpga/tw_depacketizer.sv",
           "i < 32'(all_bytes) ? there", "1'b1 ? there"),
    Mutant("rtl_fork_room_given_at_each_reading", "reduce/fork", "three", "rtl/reduce/tw_fork.sv",
           "+ (ends && !again ? passed_q + 1 : 0)", "+ (ends ? passed_q + 1 : 0)"),
    Mutant("rtl_fork_head_stays", "reduce/fork", "three", "rtl/reduce/tw_fork.sv",
           "if (ends && !again) head_q <= next_read;", "if (again) head_q <= next_read;"),
    Mutant("rtl_fork_held_word_shown", "reduce/fork", "three", "rtl/reduce/tw_fork.sv",
           "in_valid_i[o] && !in_held_i;", "in_valid_i[o];"),
    Mutant("rtl_unit_kept_operand_lost", "reduce/aggregation_unit", "small", "rtl/reduce/tw_aggregation_unit.sv",
           "complete ? '0 : there", "'0"),
    Mutant("rtl_unit_descriptors_joined", "reduce/aggregation_unit", "small", "rtl/reduce/tw_aggregation_unit.sv",
           "descriptor_q ? CountWidth'(1) : count_q", "count_q"),
    Mutant("cpp_unit_packet_ends_early", "reduce/aggregation_unit", "small", "sim/reduce/aggregation_unit.hpp",
           "flit_ + 1 == step_.flits ?", "flit_ + 2 >= step_.flits ?"),
    Mutant("rtl_join_halves_swapped", "reduce/join", "even", "rtl/reduce/tw_join.sv",
           "operand = in_operands_i[(n+1)/2+i];", "operand = in_operands_i[n/2+i];"),
    Mutant("rtl_join_odd_does_not_wait", "reduce/join", "even", "rtl/reduce/tw_join.sv",
           "meeting.count[0] ? waited : second_even", "meeting.count[0] ? second_odd : second_even"),
    Mutant("rtl_lane_last_element_lost", "reduce/lane", "all", "rtl/reduce/tw_lane.sv",
           "bytes > 6'(i", "bytes > 6'(1 + i"),
    Mutant("rtl_lane_own_result_in_place", "reduce/lane", "user", "rtl/reduce/tw_lane.sv",
           "head && Bits == 128 ? {result[191:0], 64'd0} : result", "result"),
]  # fmt: skip

CPP = [
    Mutant("cpp_async_fifo_edge_in_common", "common/async_fifo", "flit32", "sim/common/async_fifo.hpp",
           "to_.cycle_after(from_.edge(cycle))", "to_.cycle_from(from_.edge(cycle))"),
    Mutant("cpp_level_sync_too_soon", "common/level_sync", "number", "sim/common/level_sync.hpp",
           "from = first + stages_", "from = first + stages_ - 1"),
    Mutant("cpp_pulse_sync_ready_too_soon", "common/pulse_sync", "into_slower", "sim/common/pulse_sync.hpp",
           "from_.cycle_after(to_.edge(pulse_))", "from_.cycle_from(to_.edge(pulse_))"),
    Mutant("cpp_reset_sync_too_long", "common/reset_sync", "two", "sim/common/reset_sync.hpp",
           "reset ? stages_ + 1", "reset ? stages_ + 2"),
    Mutant("cpp_fifo_pointer_stays", "common/fifo", "depth5", "sim/common/fifo.hpp",
           "if (popped) head_", "if (popped && !pushed) head_"),
    Mutant("cpp_fifo_one_short", "common/fifo", "depth5", "sim/common/fifo.hpp",
           "count_ < slots_.size()", "count_ + 1 < slots_.size()"),
    Mutant("cpp_skid_wrong_word", "common/skid", "flit", "sim/common/skid.hpp",
           "skid_ = *push;", "skid_ = output_;"),
    Mutant("cpp_arbiter_lowest_first", "common/arbiter", "four", "sim/common/arbiter.hpp",
           "ahead ? ahead : requests", "requests"),
    Mutant("cpp_arbiter_winner_again", "common/arbiter", "four", "sim/common/arbiter.hpp",
           "0 : winner + 1)", "0 : winner)"),
    Mutant("cpp_flow_credit_free", "link/flow", "credits8", "sim/link/flow.hpp",
           "credits_ - counting_", "credits_"),
    Mutant("cpp_flow_stop_late", "link/flow", "margin", "sim/link/flow.hpp",
           "depth_ - held_ <= margin_", "depth_ - held_ < margin_"),
    Mutant("cpp_crc32_last_bit", "common/crc32", "frame", "sim/common/crc32.hpp",
           "for (; bits > 0; --bits", "for (; bits > 1; --bits"),
    Mutant("cpp_crc32_start", "common/crc32", "words", "sim/common/crc32.hpp",
           "crc = ~std::uint32_t{0};", "crc = 0;"),
    Mutant("cpp_replay_gap_unnoticed", "link/replay", "short", "sim/link/replay.hpp",
           "ahead <= words_.size()", "ahead < words_.size()"),
    Mutant("cpp_replay_acknowledges_unsent", "link/replay", "short", "sim/link/replay.hpp",
           "since_base(peer->expected) <= sent", "true"),
    Mutant("cpp_replay_down_late", "link/replay", "short", "sim/link/replay.hpp",
           "silent_ = 0;", "silent_ = up() ? silent_ : 0;"),
    Mutant("cpp_codec_credits_at_once", "link/replay_codec", "preset", "sim/link/replay_codec.hpp",
           "given_[vc] = counted(given_[vc] + 1);", "given_[vc] = told_[vc];"),
    Mutant("cpp_codec_turn_stays", "link/replay_codec", "preset", "sim/link/replay_codec.hpp",
           "turn_ + 1 == format_.vcs ? 0 : turn_ + 1", "turn_ + 2 == format_.vcs ? 0 : turn_ + 1"),
    Mutant("cpp_context_up_is_a_child", "mpi_fpga/context_table", "direct", "sim/mpi_fpga/context_table.hpp",
           "if (other - label >= below) return up;", ""),
    Mutant("cpp_slots_due_too_late", "mpi_fpga/slots", "small", "sim/mpi_fpga/slots.cpp",
           "edge.owed < batch_", "edge.owed <= batch_"),
    Mutant("cpp_slot_bank_second_port_first", "mpi_fpga/slot_bank", "many", "sim/mpi_fpga/slot_bank.hpp",
           "return ports & -ports;", "return ports & 2 ? 2 : ports;"),
    Mutant("cpp_slot_waits_wait_on", "mpi_fpga/slot_waits", "small", "sim/mpi_fpga/slot_waits.hpp",
           "std::exchange(process, kNobody)", "process"),
    Mutant("cpp_slow_reads_held_a_cycle_more", "mpi_fpga/slow_reads", "many", "sim/mpi_fpga/slow_reads.hpp",
           "read.until > now &&", "read.until >= now &&"),
    Mutant("cpp_stages_whole_a_cycle_late", "mpi_fpga/stages", "small", "sim/mpi_fpga/stages.cpp",
           "packet, last + 1}", "packet, last + 2}"),
    Mutant("cpp_stages_reader_waits_on", "mpi_fpga/stages", "small", "sim/mpi_fpga/stages.hpp",
           "std::exchange(stage.reader, kNobody)", "stage.reader"),
    Mutant("cpp_injector_turn_stays", "mpi_fpga/injector", "margin", "sim/mpi_fpga/injector.hpp",
           "turn_.accept(source_, sources_);", ""),
    Mutant("cpp_relay_three_readers", "mpi_fpga/relay", "tight", "sim/mpi_fpga/relay.hpp",
           "kReaders = 2;", "kReaders = 3;"),
    Mutant("cpp_relay_credit_turn_stays", "mpi_fpga/relay", "tight", "sim/mpi_fpga/relay.cpp",
           "lanes_[lane].credit_turn = place + 1 < buffers_of(lane) ? place + 1 : 0;", ""),
    Mutant("cpp_relay_long_queues_wait", "mpi_fpga/relay", "even", "sim/mpi_fpga/relay.cpp",
           "if (queue.size() > 1) return wish;", ""),
    Mutant("cpp_control_own_block_is_combined_twice", "mpi_fpga/collective_control", "direct",
           "sim/mpi_fpga/collective_control.cpp", ".block = further(!reduced)", ".block = further(1)"),
    Mutant("cpp_control_fold_is_forgotten", "mpi_fpga/collective_control", "direct", "sim/mpi_fpga/collective_control.cpp",
           ".to_edges = last ? row_.fold :", ".to_edges = last ? 0 :"),
    Mutant("cpp_packetizer_rest_of_a_word_kept", "mpi_fpga/packetizer", "stream", "sim/mpi_fpga/packetizer.hpp",
           "bytes_.clear();", ""),
    Mutant("cpp_depacketizer_ends_early", "mpi_fpga/depacketizer", "packets", "sim/mpi_fpga/depacketizer.hpp",
           "part.last = tail_ && bytes_.empty();", "part.last = tail_;"),
    Mutant("cpp_fork_room_is_not_given_back", "reduce/fork", "three", "sim/reduce/fork.hpp",
           "queues_[output].room += flits;", ""),
    Mutant("cpp_route_local_mask", "switch/route", "torus", "sim/switch/route.cpp",
           "all_channels_[message_class]}", "channels_[message_class][0]}"),
    Mutant("cpp_router_credit_unchecked", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "} else if (!input.sinks && !output.flow.ready()) {", "} else if (false) {"),
    Mutant("cpp_router_link_not_asked", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "(!ready_[port] || ready_[port]->read(now))", "true"),
    Mutant("cpp_router_sinking_waits", "switch/vc_router", "local", "sim/switch/vc_router.cpp",
           "if (input_[i].sinks || output.flow.ready())", "if (output.flow.ready())"),
    Mutant("cpp_router_port_turn", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "choose_port.accept(port, ports_)", "choose_port.accept(out, ports_)"),
    Mutant("cpp_router_channel_kept", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "free_ &= ~wanted;", ""),
    Mutant("cpp_router_sleeps_too_soon", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "return (occupied_ & (~active_ | sendable_)) != 0;", "return (occupied_ & ~active_) != 0;"),
    Mutant("cpp_lane_zeros_equal", "reduce/lane", "short", "sim/reduce/lane.cpp",
           "a < b || (a == b && negative(a) && !negative(b))", "a < b"),
    Mutant("cpp_lane_index_nan_kept", "reduce/lane", "short", "sim/reduce/lane.cpp",
           "at_a = canonical(at_a);", ""),
    Mutant("cpp_lane_late", "reduce/lane", "fp64_sum", "sim/reduce/lane.cpp",
           "now_ = (now_ + 1) % due_.size();", "if (pair) now_ = (now_ + 1) % due_.size();"),
]  # fmt: skip

MUTANTS = {mutant.name: mutant for mutant in (*RTL, *CPP)}


MIRRORED = ("rtl", "sim", "spec/generated", "tests/bisim", "tests/blocks", "tests/sim/network", "examples/operators")
"""What the tests of the blocks are built from."""


def mirror(target: Path) -> None:
    """A copy of what the tests are built from; files that are the same are left alone, so that little is built again."""
    for folder in MIRRORED:
        for source in (ROOT / folder).rglob("*"):
            copy = target / source.relative_to(ROOT)
            if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)


@contextmanager
def changed(file: Path, change: Callable[[str], str]) -> Iterator[None]:
    """The file as `change` makes it, and afterwards as it was."""
    text = file.read_text()
    try:
        file.write_text(change(text))
        yield
    finally:
        file.write_text(text)


def hunt(mutant: Mutant, seed: int, replay: bool = False) -> Result:
    """Builds a copy with the mutant in it and runs its block's test; the result has no difference where it survives."""
    original = Project(ROOT)
    copy = original.build / "mutants" / mutant.side
    with alone(copy):
        mirror(copy)
        file = copy / mutant.file
        count = file.read_text().count(mutant.old)
        if count != 1:
            raise ValueError(f"{mutant.name}: the text to replace occurs {count} times in {mutant.file}")
        project = Project(copy, copy / "build", original)
        block = project.block(mutant.block)
        parameters = next(parameters for parameters in block.sets if parameters.name == mutant.set)
        with changed(file, lambda text: text.replace(mutant.old, mutant.new)):
            project.build_tests([(block, parameters)])
            return project.run(block, parameters, RUNS, CYCLES, seed, replay)


def main() -> int:
    parser = argparse.ArgumentParser(description="Hunt mutants of the hardware and its twins.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants; all where none is named")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in MUTANTS]
    if unknown:
        parser.error(f"no mutant {', '.join(unknown)}; there are {', '.join(MUTANTS)}")
    print(f"seed {arguments.seed}")
    survivors = 0
    for name in arguments.names or MUTANTS:
        difference = hunt(MUTANTS[name], arguments.seed).difference
        survivors += difference is None
        print(f"{name}: {difference or 'SURVIVED'}", flush=True)
    print(f"{survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
