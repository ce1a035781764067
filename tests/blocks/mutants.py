#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
    Mutant("rtl_reset_sync_too_short", "common/reset_sync", "two", "rtl/common/tw_reset_sync.sv",
           "if (rst_i) stages_q <= '1;", "if (rst_i) stages_q <= 1;"),
    Mutant("rtl_skid_drops_spare", "common/skid", "bit", "rtl/common/tw_skid.sv",
           "<= spare_valid_q || push", "<= push"),
    Mutant("rtl_arbiter_lowest_first", "common/arbiter", "four", "rtl/common/tw_arbiter.sv",
           "at_or_after != 0 ? at_or_after : request_i", "request_i"),
    Mutant("rtl_flow_credit_lost", "link/flow", "credits8", "rtl/link/tw_flow.sv",
           "CreditWidth'(back_i) - CreditWidth'(send_i)", "CreditWidth'(back_i && !send_i) - CreditWidth'(send_i)"),
    Mutant("rtl_flow_count_leaks", "link/flow", "credits8", "rtl/link/tw_flow.sv",
           " - HeldWidth'(pop_i)", ""),
    Mutant("rtl_rate_too_slow", "link/rate", "third", "rtl/link/tw_rate.sv",
           "level_q >= Width'(Cycles)", "level_q > Width'(Cycles)"),
    Mutant("rtl_crc32_start", "common/crc32", "frame", "rtl/common/tw_crc32.sv",
           "crc = '1;", "crc = '0;"),
    Mutant("rtl_replay_takes_twice", "link/replay", "short", "rtl/link/tw_replay.sv",
           "peer_word_valid_i && ahead == 0", "peer_word_valid_i && (ahead == 0 || &ahead)"),
    Mutant("rtl_session_lost_unsaid", "link/session", "end", "rtl/link/tw_session.sv",
           "flush_d || (news && !session_q.up)", "flush_d"),
    Mutant("rtl_link_end_begins_with_words", "link/link_end", "credits", "rtl/link/tw_link_end.sv",
           "      .rst_i(begins),", "      .rst_i,"),
    Mutant("rtl_codec_check_ignored", "link/replay_codec", "preset", "rtl/link/tw_replay_codec.sv",
           "in_valid_q && in_crc == in_check_q", "in_valid_q && in_crc[31:1] == in_check_q[31:1]"),
    Mutant("rtl_context_interval_closed", "mpi_fpga/context_table", "direct", "rtl/mpi_fpga/tw_context_table.sv",
           "16'(label - first) < count", "16'(label - first) <= count"),
    Mutant("rtl_injector_nothing_urgent", "mpi_fpga/injector", "margin", "rtl/mpi_fpga/tw_injector.sv",
           "urgent != '0 ? urgent : src_valid_i", "src_valid_i"),
    Mutant("rtl_pick_tried_too_often", "mpi_fpga/pick", "node", "rtl/mpi_fpga/tw_pick.sv",
           "else left_q <= left_q - CountWidth'(takes);", ""),
    Mutant("rtl_pick_overtakes", "mpi_fpga/pick", "node", "rtl/mpi_fpga/tw_pick.sv",
           "waiting ? first : early_process_i[q]", "early_valid_i[q] ? early_process_i[q] : first"),
    Mutant("rtl_slots_final_is_not_due", "mpi_fpga/slots", "small", "rtl/mpi_fpga/tw_slots.sv",
           "(step_final_i || owed", "(owed"),
    Mutant("rtl_slot_bank_second_port_idle", "mpi_fpga/slot_bank", "many", "rtl/mpi_fpga/tw_slot_bank.sv",
           "q == 0 && free[0] || q == 1 && !free[0]", "q == 0 && free[0]"),
    Mutant("rtl_slot_waits_late_waits_on", "mpi_fpga/slot_waits", "small", "rtl/mpi_fpga/tw_slot_waits.sv",
           "wait_valid_i && late_valid_o == 0", "wait_valid_i"),
    Mutant("rtl_slow_reads_a_cycle_short", "mpi_fpga/slow_reads", "many", "rtl/mpi_fpga/tw_slow_reads.sv",
           "left_q[u] <= cycles - TimeBits'(1);", "left_q[u] <= cycles - TimeBits'(2);"),
    Mutant("rtl_stages_filled_while_it_is_read", "mpi_fpga/stages", "small", "rtl/mpi_fpga/tw_stages.sv",
           "(to_i == '0 || !held[own_i][place_i])", "1'b1"),
    Mutant("rtl_progress_turn_begins_behind", "mpi_fpga/progress", "few", "rtl/mpi_fpga/tw_progress.sv",
           "next.done = at.turn_done;", "next.done = at.done;"),
    Mutant("cpp_progress_last_packet_is_full", "mpi_fpga/progress", "few", "sim/mpi_fpga/progress.hpp",
           "layout_.flits(elements)", "layout_.flits(layout_.elements_per_packet())"),
    Mutant("rtl_starter_does_not_wait", "mpi_fpga/starter", "few", "rtl/mpi_fpga/tw_starter.sv",
           "(!waiting_q || answered)", "1'b1"),
    Mutant("cpp_starter_third_process_of_a_tree", "mpi_fpga/starter", "few", "sim/mpi_fpga/starter.hpp",
           "processes = 2;", "processes = 3;"),
    Mutant("rtl_openings_wait_for_no_reader", "mpi_fpga/openings", "few", "rtl/mpi_fpga/tw_openings.sv",
           "wire begins_found = idle_i && !comes && found && !reading_i[look_edge_o];",
           "wire begins_found = idle_i && !comes && found;"),
    Mutant("cpp_openings_any_sequence", "mpi_fpga/openings", "few", "sim/mpi_fpga/openings.hpp",
           "head.sequence == row.sequence", "true"),
    Mutant("rtl_precedence_own_place_holds", "mpi_fpga/precedence", "few", "rtl/mpi_fpga/tw_precedence.sv",
           "p >= 32'(next) && p < 32'(held_place_i)", "p >= 32'(next) && p <= 32'(held_place_i)"),
    Mutant("cpp_precedence_turn_stays_at_loading", "mpi_fpga/precedence", "few", "sim/mpi_fpga/precedence.hpp",
           "rows_[row].next = 0;", ""),
    Mutant("rtl_dispatch_edge_moves", "mpi_fpga/dispatch", "few", "rtl/mpi_fpga/tw_dispatch.sv",
           "&& edge_queued[k] && 32'(edge_unit[k]) != u", "&& 1'b0"),
    Mutant("cpp_dispatch_first_unit_always", "mpi_fpga/dispatch", "few", "sim/mpi_fpga/dispatch.hpp",
           "unit.queued < units_[*choice.unit].queued", "false"),
    Mutant("rtl_packet_store_chain_broken", "mpi_fpga/packet_store", "few", "rtl/mpi_fpga/tw_packet_store.sv",
           "if (arrives && !is_first) next_q", "if (arrives) next_q"),
    Mutant("cpp_packet_store_free_while_read", "mpi_fpga/packet_store", "few", "sim/mpi_fpga/packet_store.hpp",
           " && reader.at < reader.flits", " && reader.at == 0"),
    Mutant("rtl_uploads_late_waits_on", "mpi_fpga/uploads", "few", "rtl/mpi_fpga/tw_uploads.sv",
           "wait_i && !late_valid_o", "wait_i"),
    Mutant("cpp_uploads_seen_at_once", "mpi_fpga/uploads", "few", "sim/mpi_fpga/uploads.hpp",
           "hears_ = announced();", "if ((hears_ = announced())) ++processes_[announced_.front()].there;"),
    Mutant("rtl_steps_start_where_it_was", "mpi_fpga/steps", "few", "rtl/mpi_fpga/tw_steps.sv",
           "if (come_valid_i && come_start_i) begun_q", "if (1'b0) begun_q"),
    Mutant("rtl_steps_former_one_known", "mpi_fpga/steps", "few", "rtl/mpi_fpga/tw_steps.sv",
           "emptied_q[process_q] <= filled_q[process_q];", ";"),
    Mutant("rtl_relay_hole_in_a_queue", "mpi_fpga/relay", "tight", "rtl/mpi_fpga/tw_relay.sv",
           "!filled_q[here.row] || (leaves_last && taken == here.row)", "!filled_q[here.row]"),
    Mutant("rtl_control_group_never_needed", "mpi_fpga/collective_control", "direct", "rtl/mpi_fpga/tw_collective_control.sv",
           "scan.stages[k].partial = reach[k+1];", "scan.stages[k].partial = 1'b0;"),
    Mutant("rtl_route_class_not_kept", "switch/route", "torus", "rtl/switch/tw_route.sv",
           "entry.keep_class ? class_of(message_class, vc_i[l]) : entry.route_class", "entry.route_class"),
    Mutant("rtl_router_drops_heads_alone", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "& ~won & ~(pop & front_tail);", "& ~won & ~pop;"),
    Mutant("rtl_router_mask_ignored", "switch/vc_router", "shallow", "rtl/switch/tw_vc_router.sv",
           "+:Vcs] & allowed_q[i]", "+:Vcs]"),
    Mutant("rtl_lane_sticky_lost", "reduce/lane", "fp64_sum", "rtl/reduce/parts/tw_fp_add.sv",
           "shifted[0] || lost != 0", "shifted[0]"),
    Mutant("rtl_packetizer_rest_of_a_word_kept", "mpi_fpga/packetizer", "stream", "rtl/mpi_fpga/tw_packetizer.sv",
           "      held_q <= '0;\n", ""),
    Mutant("rtl_depacketizer_rest_of_a_packet_dropped", "mpi_fpga/depacketizer", "packets", "rtl/mpi_fpga/tw_depacketizer.sv",
           "draining_q  <= ends && !all_go;", "draining_q  <= 1'b0;"),
    Mutant("rtl_fork_room_given_at_each_reading", "reduce/fork", "three", "rtl/reduce/tw_fork.sv",
           "+ (ends && !again ? passed_q + 1 : 0)", "+ (ends ? passed_q + 1 : 0)"),
    Mutant("rtl_unit_kept_operand_lost", "reduce/aggregation_unit", "small", "rtl/reduce/tw_aggregation_unit.sv",
           "complete ? '0 : there", "'0"),
    Mutant("cpp_unit_packet_ends_early", "reduce/aggregation_unit", "small", "sim/reduce/aggregation_unit.hpp",
           "flit_ + 1 == step_.flits ?", "flit_ + 2 >= step_.flits ?"),
    Mutant("rtl_join_halves_swapped", "reduce/join", "even", "rtl/reduce/tw_join.sv",
           "operand = in_operands_i[(n+1)/2+i];", "operand = in_operands_i[n/2+i];"),
    Mutant("rtl_join_odd_does_not_wait", "reduce/join", "even", "rtl/reduce/tw_join.sv",
           "meeting.count[0] ? waited : second_even", "meeting.count[0] ? second_odd : second_even"),
    Mutant("rtl_ram_fifo_front_overwritten", "common/ram_fifo", "depth5", "rtl/common/tw_ram_fifo.sv",
           "if (there && load) data_q", "if (there) data_q"),
    Mutant("rtl_stream_switch_lowest_first", "switch/stream_switch", "three_to_two", "rtl/switch/tw_stream_switch.sv",
           "(chooses && asked),", "(1'b0),"),
    Mutant("rtl_windows_unused_decide", "peach2/windows", "sixteen", "rtl/peach2/tw_windows.sv",
           "windows_q[i].used && ", ""),
    Mutant("rtl_egress_check_sum_is_free", "peach2/egress", "x8", "rtl/peach2/tw_egress.sv",
           "if (in_last_i) bytes += EndBytes;", ""),
    Mutant("rtl_events_lost_when_told", "peach2/events", "hub", "rtl/peach2/tw_events.sv",
           "leaves ? 16'(happened_i[i]) :", "leaves ? 16'd0 :"),
    Mutant("rtl_ingress_page_crossed_by_one", "peach2/ingress", "north", "rtl/peach2/tw_ingress.sv",
           "> 11'd1024)", "> 11'd1025)"),
    Mutant("rtl_bus_stray_not_told", "peach2/bus", "preset", "rtl/peach2/tw_bus.sv",
           "goes && target == None;", "goes && reads_fast && target == None;"),
    Mutant("rtl_bus_bridge_last_enable_lost", "peach2/bus_bridge", "preset", "rtl/peach2/tw_bus_bridge.sv",
           "enable[4*i+:4] = last_enable_q;", "enable[4*i+:4] = 4'hF;"),
    Mutant("rtl_control_chains_of_results_overlap", "peach2/control", "preset", "rtl/peach2/tw_control.sv",
           "next_due && !running_q", "next_due && !chain_valid_o"),
    Mutant("rtl_control_missed_not_counted", "peach2/control", "preset", "rtl/peach2/tw_control.sv",
           "32'(to_start && !starts_ready)", "32'(to_start && !starts_ready && missed_q == 0)"),
    Mutant("rtl_dma_reader_boundary_ignored", "peach2/dma_reader", "preset", "rtl/peach2/tw_dma_reader.sv",
           "11'(to_boundary) < to_page ?", "11'(to_boundary) <= to_page + 11'd1 ?"),
    Mutant("rtl_dma_writer_last_line_short", "peach2/dma_writer", "preset", "rtl/peach2/tw_dma_writer.sv",
           "3'(i) < turn_q ? before_q[i]", "3'(i) <= turn_q ? before_q[i]"),
    Mutant("rtl_ingress_cables_not_counted", "peach2/ingress", "small", "rtl/peach2/tw_ingress.sv",
           "in_data_i[TagAt+:8] + 1'b1;", "in_data_i[TagAt+:8];"),
    Mutant("rtl_ingress_sources_are_the_senders", "peach2/ingress", "north", "rtl/peach2/tw_ingress.sv",
           "if (!Cable) source =", "if (!Cable && Port != North) source ="),
    Mutant("rtl_dma_reader_abandons_what_it_shows", "peach2/dma_reader", "preset", "rtl/peach2/tw_dma_reader.sv",
           "(!out_valid_o || out_ready_i);", "1'b1;"),
    Mutant("rtl_dma_reader_a_descriptor_more", "peach2/dma_reader", "two", "rtl/peach2/tw_dma_reader.sv",
           "Descriptors - 32'(!descriptor_q.last)", "Descriptors"),
    Mutant("rtl_dma_reader_late_answers_taken", "peach2/dma_reader", "two", "rtl/peach2/tw_dma_reader.sv",
           "assign abandon_o = state_q == Abandon || lost_q;", "assign abandon_o = state_q == Abandon;"),
    Mutant("rtl_dma_writer_abandoned_written", "peach2/dma_writer", "preset", "rtl/peach2/tw_dma_writer.sv",
           "wire accepts = right && !abandon_i;", "wire accepts = right;"),
    Mutant("rtl_control_owners_forgotten", "peach2/control", "preset", "rtl/peach2/tw_control.sv",
           "if (to_owners) command_owners_o", "if (to_owners && !to_abort && register_data_i[0]) command_owners_o"),
    Mutant("rtl_bus_side_lane_waits", "peach2/bus", "preset", "rtl/peach2/tw_bus.sv",
           "beat_valid_i[1] && !stays_q", "beat_valid_i[1] && !beat_valid_i[0]"),
    Mutant("rtl_calculator_kept_result_replaced", "peach2/calculator", "few", "rtl/peach2/tw_calculator.sv",
           "&& !kept_i[i] && ", "&& "),
    Mutant("rtl_calculator_no_busy_check", "peach2/calculator", "paper", "rtl/peach2/tw_calculator.sv",
           "!full_q[index.of][index.set] && !busy_q[index.of][index.set][index.place]", "!full_q[index.of][index.set]"),
    Mutant("rtl_calculator_set_released_early", "peach2/calculator", "paper", "rtl/peach2/tw_calculator.sv",
           "if (state_q == Copy && copied) begin", "if (state_q == Copy && at_q == '0) begin"),
    Mutant("rtl_calculator_set_up_clears_one_set", "peach2/calculator", "paper", "rtl/peach2/tw_calculator.sv",
           "touched_q[setup_context_i] <= '0;", "touched_q[setup_context_i][0] <= '0;"),
    Mutant("rtl_calculator_fold_order", "peach2/calculator", "wide", "rtl/peach2/tw_calculator.sv",
           "half_b_q      <= folds_q[upper];", "half_b_q      <= folds_q[in_beat ? upper : upper ^ 1'b1];"),
    Mutant("rtl_calculator_tree_padding", "peach2/calculator", "paper", "rtl/peach2/tw_calculator.sv",
           "of_fold_q.tree && 5'(i) >= element) stored", "of_fold_q.tree && 5'(i) > element) stored"),
    Mutant("rtl_egress_acknowledged_bytes_dropped", "peach2/egress", "x8", "rtl/peach2/tw_egress.sv",
           "told_valid_i ? OwedBits'(ToldBytes) - OwedBits'(Rate) :", "told_valid_i && !accept ? OwedBits'(ToldBytes) - OwedBits'(Rate) :"),
    Mutant("rtl_egress_credit_off_by_one", "peach2/egress", "few", "rtl/peach2/tw_egress.sv",
           "packets_q != 0 && units_q", "packets_q > 1 && units_q"),
    Mutant("rtl_windows_last_decides", "peach2/windows", "sixteen", "rtl/peach2/tw_windows.sv",
           "for (int i = Windows - 1; i >= 0; i--) if", "for (int i = 0; i < Windows; i++) if"),
    Mutant("rtl_calculator_busy_too_short", "peach2/calculator", "few", "rtl/peach2/tw_calculator.sv",
           "&& !busy_q[index.of][index.set][index.place];", "&& (!busy_q[index.of][index.set][index.place] || last);"),
    Mutant("rtl_hub_told_of_every_word", "peach2/hub", "preset", "rtl/peach2/parts/tw_hub_ports.sv",
           "(link_in_valid_i[l] && link_in_last_i[l])", "(link_in_valid_i[l])"),
    Mutant("rtl_smi_synchs_row_of_another", "smi/synchs", "all", "rtl/smi/tw_synchs.sv",
           "used_row[asked_q[3:0]] += 1;", "used_row[ask_i[3:0]] += 1;"),
    Mutant("rtl_smi_places_division_rounds", "smi/places", "all", "rtl/smi/tw_places.sv",
           "rest >= 9'(arity_q)", "rest > 9'(arity_q)"),
    Mutant("rtl_smi_unpacker_shows_neighbours", "smi/unpacker", "bytes32", "rtl/smi/tw_unpacker.sv",
           " & element_bits(in_size_i)", ""),
    Mutant("rtl_smi_broadcast_given_twice", "smi/broadcast", "bytes32", "rtl/smi/tw_broadcast.sv",
           "given && !pops", "1'b0"),
    Mutant("rtl_smi_scatter_one_grant_for_all", "smi/scatter", "bytes32", "rtl/smi/tw_scatter.sv",
           "(granted_q || uses) && !part_ends", "granted_q || uses"),
    Mutant("rtl_smi_gather_asks_itself", "smi/gather", "bytes32", "rtl/smi/tw_gather.sv",
           "state_q == Ask && !own_asked", "state_q == Ask"),
    Mutant("rtl_smi_reduce_sum_too_soon", "smi/reduce", "linear", "rtl/smi/tw_reduce.sv",
           "behind[CountBits-1] && done", "done"),
    Mutant("rtl_smi_reduce_child_is_lost", "smi/reduce", "linear", "rtl/smi/tw_reduce.sv",
           "child_enters = fits && !own_enters", "child_enters = fits"),
    Mutant("rtl_poller_reads_once", "switch/poller", "five", "rtl/switch/tw_poller.sv",
           "LastRead = ReadWidth'(Reads - 1)", "LastRead = ReadWidth'(Reads)"),
    Mutant("rtl_poller_messages_mix", "switch/poller", "circuits", "rtl/switch/tw_poller.sv",
           "|| !held_q[to[i]]", "|| 1'b1"),
    Mutant("rtl_smi_circuit_one_packet_more", "smi/circuit", "all", "rtl/smi/tw_circuit.sv",
           "left_d == 1", "left_d == 0"),
    Mutant("rtl_smi_message_fifo_parts", "smi/message_fifo", "depth6", "rtl/smi/tw_message_fifo.sv",
           "(any_q || begun_q || !in_ready_o)", "(any_q || begun_q || in_ready_o)"),
    Mutant("rtl_smi_kernel_inputs_count_what_waits", "smi/kernel_inputs", "circuits", "rtl/smi/tw_kernel_inputs.sv",
           "(in_valid_i[i] && in_ready_o[i])", "(in_valid_i[i])"),
    Mutant("rtl_smi_send_kernel_nowhere_is_the_link", "smi/send_kernel", "four_links", "rtl/smi/tw_send_kernel.sv",
           "? ToWidth'(table_data_i) : Nowhere", "? ToWidth'(table_data_i) : 0"),
    Mutant("rtl_smi_send_kernel_nowhere_waits", "smi/send_kernel", "four_links", "rtl/smi/tw_send_kernel.sv",
           "(dropped_o || (out_to_o & out_ready_i) != 0)", "((out_to_o & out_ready_i) != 0)"),
    Mutant("rtl_smi_receive_kernel_control_as_data", "smi/receive_kernel", "four_links", "rtl/smi/tw_receive_kernel.sv",
           "packet.operation == OperationSynch}", "1'b0}"),
    Mutant("rtl_smi_packer_old_elements_stay", "smi/packer", "bytes32", "rtl/smi/tw_packer.sv",
           "(here || place == 0)", "here"),
    Mutant("rtl_smi_packer_circuit_without_its_end", "smi/packer", "circuits", "rtl/smi/tw_packer.sv",
           "circuit_q ? bytes_q", "1'b0 ? bytes_q"),
    Mutant("rtl_smi_push_circuit_flushed", "smi/push", "circuits", "rtl/smi/tw_push.sv",
           "(in_flush_i && !open_q.circuit)", "in_flush_i"),
    Mutant("rtl_smi_push_next_channel_before_credits", "smi/push", "bytes32", "rtl/smi/tw_push.sv",
           "&& back_q && !takes_credit", "&& !takes_credit"),
    Mutant("rtl_smi_pop_credits_late", "smi/pop", "int32", "rtl/smi/tw_pop.sv",
           "taken_d >= open_q.window / 2", "taken_d > open_q.window / 2"),
    Mutant("rtl_smi_pop_credits_in_circuits", "smi/pop", "circuits", "rtl/smi/tw_pop.sv",
           "credited = !payload && packet", "credited = packet"),
    Mutant("rtl_smi_node_inputs_swapped", "smi/node", "collectives", "rtl/smi/tw_node.sv",
           "SendInput = o == l ? 0 : 1 + Other", "SendInput = o == l ? 1 : Other"),
    Mutant("rtl_smi_node_one_unrouted_a_cycle", "smi/node", "circuits", "rtl/smi/tw_node.sv",
           "32'($countones(unrouted))", "32'(unrouted != 0)"),
]  # fmt: skip

CPP = [
    Mutant("cpp_async_fifo_edge_in_common", "common/async_fifo", "flit32", "sim/common/async_fifo.hpp",
           "to_.cycle_after(from_.edge(cycle))", "to_.cycle_from(from_.edge(cycle))"),
    Mutant("cpp_level_sync_too_soon", "common/level_sync", "number", "sim/common/level_sync.hpp",
           "from = first + stages_", "from = first + stages_ - 1"),
    Mutant("cpp_reset_sync_too_long", "common/reset_sync", "two", "sim/common/reset_sync.hpp",
           "reset ? stages_ + 1", "reset ? stages_ + 2"),
    Mutant("cpp_skid_wrong_word", "common/skid", "flit", "sim/common/skid.hpp",
           "skid_ = *push;", "skid_ = output_;"),
    Mutant("cpp_arbiter_winner_again", "common/arbiter", "four", "sim/common/arbiter.hpp",
           "0 : winner + 1)", "0 : winner)"),
    Mutant("cpp_flow_stop_late", "link/flow", "margin", "sim/link/flow.hpp",
           "depth_ - held_ <= margin_", "depth_ - held_ < margin_"),
    Mutant("cpp_crc32_last_bit", "common/crc32", "frame", "sim/common/crc32.hpp",
           "for (; bits > 0; --bits", "for (; bits > 1; --bits"),
    Mutant("cpp_replay_gap_unnoticed", "link/replay", "short", "sim/link/replay.hpp",
           "ahead <= words_.size()", "ahead < words_.size()"),
    Mutant("cpp_session_number_stays", "link/session", "end", "sim/link/session.hpp",
           "own_.lost = noted_ = false;\n      next_ = !own_.number;", "own_.lost = noted_ = false;"),
    Mutant("cpp_link_end_takes_the_rest", "link/link_end", "credits", "sim/link/link_end.hpp",
           "own.up ? word : nullptr", "word"),
    Mutant("cpp_codec_credits_at_once", "link/replay_codec", "preset", "sim/link/replay_codec.hpp",
           "given_[vc] = counted(given_[vc] + 1);", "given_[vc] = told_[vc];"),
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
    Mutant("cpp_injector_turn_stays", "mpi_fpga/injector", "margin", "sim/mpi_fpga/injector.hpp",
           "turn_.accept(source_, sources_);", ""),
    Mutant("cpp_relay_three_readers", "mpi_fpga/relay", "tight", "sim/mpi_fpga/relay.hpp",
           "kReaders = 2;", "kReaders = 3;"),
    Mutant("cpp_control_own_block_is_combined_twice", "mpi_fpga/collective_control", "direct",
           "sim/mpi_fpga/collective_control.cpp", ".block = further(!reduced)", ".block = further(1)"),
    Mutant("cpp_packetizer_rest_of_a_word_kept", "mpi_fpga/packetizer", "stream", "sim/mpi_fpga/packetizer.hpp",
           "bytes_.clear();", ""),
    Mutant("cpp_depacketizer_ends_early", "mpi_fpga/depacketizer", "packets", "sim/mpi_fpga/depacketizer.hpp",
           "part.last = tail_ && bytes_.empty();", "part.last = tail_;"),
    Mutant("cpp_fork_room_is_not_given_back", "reduce/fork", "three", "sim/reduce/fork.hpp",
           "queues_[output].room += flits;", ""),
    Mutant("cpp_route_local_mask", "switch/route", "torus", "sim/switch/route.cpp",
           "all_channels_[message_class]}", "channels_[message_class][0]}"),
    Mutant("cpp_router_drop_is_no_turn", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "      port_[port].choose_vc.accept(vc_of(i), channels_);\n      drop", "      drop"),
    Mutant("cpp_router_credit_unchecked", "switch/vc_router", "shallow", "sim/switch/vc_router.cpp",
           "} else if (!input.sinks && !output.flow.ready()) {", "} else if (false) {"),
    Mutant("cpp_lane_zeros_equal", "reduce/lane", "short", "sim/reduce/lane.cpp",
           "a < b || (a == b && negative(a) && !negative(b))", "a < b"),
    Mutant("cpp_ram_fifo_in_time_too_soon", "common/ram_fifo", "depth5", "sim/common/ram_fifo.hpp",
           "const bool loads = !front_ && memory_.valid();", "const bool loads = (!front_ || pop) && memory_.valid() && memory_.size() != 3;"),
    Mutant("cpp_stream_switch_keeps_its_input", "switch/stream_switch", "three_to_two", "sim/switch/stream_switch.hpp",
           "if (offers[i].word && !(owned >> i & 1))", "if (offers[i].word)"),
    Mutant("cpp_windows_none_to_the_bus", "peach2/windows", "sixteen", "sim/peach2/windows.hpp",
           "if (window.has(page))", "if (window.has(page) && window.to != kBus)"),
    Mutant("cpp_egress_room_for_the_smallest", "peach2/egress", "few", "sim/peach2/egress.hpp",
           "units_ >= units(kMaxDwords)", "units_ > 0"),
    Mutant("cpp_events_first_note", "peach2/events", "hub", "sim/peach2/events.hpp",
           "notes_[i] = *happened[i];", "if (counts_[i] == 1) notes_[i] = *happened[i];"),
    Mutant("cpp_ingress_reads_cost_data", "peach2/ingress", "north", "sim/peach2/ingress.hpp",
           "of == Kind::read ? 0 : units(dwords % 128) % 32}", "units(dwords % 128) % 32}"),
    Mutant("cpp_bus_parts_for_the_calculator", "peach2/bus", "preset", "sim/peach2/bus.hpp",
           "beat.enable != 0xFFFF ?", "beat.enable == 0 ?"),
    Mutant("cpp_bus_bridge_lines_too_soon", "peach2/bus_bridge", "preset", "sim/peach2/bus_bridge.hpp",
           "(beat_out_.ready() && beats_ != 3)", "beat_out_.ready()"),
    Mutant("cpp_control_missed_not_counted", "peach2/control", "preset", "sim/peach2/control.hpp",
           "missed_ += missed_start_.has_value();", "missed_ += missed_start_.has_value() && missed_ == 0;"),
    Mutant("cpp_dma_reader_next_while_reads_are_out", "peach2/dma_reader", "preset", "sim/peach2/dma_reader.hpp",
           "if (there && drained) follow(before);", "if (there) follow(before);"),
    Mutant("cpp_dma_writer_failed_taken", "peach2/dma_writer", "preset", "sim/peach2/dma_writer.hpp",
           " && completion.status == 0", ""),
    Mutant("cpp_ingress_start_is_locked", "peach2/ingress", "small", "sim/peach2/ingress.hpp",
           "const bool start = address / 4 % 256 == kStart &&", "const bool start = address % 2 && address / 4 % 256 == kStart &&"),
    Mutant("cpp_dma_reader_ends_while_reads_are_out", "peach2/dma_reader", "preset", "sim/peach2/dma_reader.hpp",
           "(asked_ == 0 || lost_) && quiet;", "quiet;"),
    Mutant("cpp_dma_reader_time_out_a_unit_late", "peach2/dma_reader", "two", "sim/peach2/dma_reader.hpp",
           "waited_ / unit_ >= in.timeout", "waited_ / unit_ > in.timeout"),
    Mutant("cpp_dma_writer_chunks_kept", "peach2/dma_writer", "preset", "sim/peach2/dma_writer.hpp",
           "chunks_ = Fifo<Chunk>(size_);", ""),
    Mutant("cpp_bus_replies_to_the_first_lane", "peach2/bus", "preset", "sim/peach2/bus.hpp",
           "reply_ = Reply{lane_, *reply};", "reply_ = Reply{0, *reply};"),
    Mutant("cpp_calculator_just_done_replaced", "peach2/calculator", "few", "sim/peach2/calculator.hpp",
           "if (done_) kept |= std::uint64_t{1} << *done_;", ""),
    Mutant("cpp_calculator_sets_are_one", "peach2/calculator", "paper", "sim/peach2/calculator.hpp",
           "context.set ^= 1;", "context.set ^= context.setup.tree ? 0 : 1;"),
    Mutant("cpp_hub_south_as_slow_as_the_ring", "peach2/hub", "preset", "sim/peach2/hub.hpp",
           ".rate = l == kSouth ? 32u : 16u", ".rate = 16u"),
    Mutant("cpp_smi_synchs_none_used", "smi/synchs", "all", "sim/smi/synchs.hpp",
           "if (use) ++used_[asked_];", "if (use) used_[asked_] = arrived_[asked_];"),
    Mutant("cpp_smi_places_one_child_more", "smi/places", "all", "sim/smi/places.hpp",
           "std::min(open.arity, open.ranks - 1 - before)", "std::min(open.arity, open.ranks - before)"),
    Mutant("cpp_smi_unpacker_waits_between_packets", "smi/unpacker", "bytes32", "sim/smi/unpacker.hpp",
           "left_ == 0 || (left_ == 1 && taken)", "left_ == 0"),
    Mutant("cpp_smi_broadcast_root_waits_for_nobody", "smi/broadcast", "bytes32", "sim/smi/broadcast.hpp",
           "places_.children() > 0 ? State::children : root_", "root_"),
    Mutant("cpp_smi_scatter_parts_too_long", "smi/scatter", "bytes32", "sim/smi/scatter.hpp",
           "packs_ = part_ + 1 != open_.ranks;", "packs_ = part_ != open_.ranks;"),
    Mutant("cpp_smi_gather_asks_before_all_came", "smi/gather", "bytes32", "sim/smi/gather.hpp",
           "if (coming_ > 0) break;", "if (coming_ > 1) break;"),
    Mutant("cpp_smi_reduce_any_order_always", "smi/reduce", "linear", "sim/smi/reduce.hpp",
           "(open_.any_order || source == 0)", "true"),
    Mutant("cpp_smi_reduce_turn_waits_for_kernel", "smi/reduce", "linear", "sim/smi/reduce.hpp",
           "if (!childs && waiting_ != 0", "if (!childs && !kernels && waiting_ != 0"),
    Mutant("cpp_poller_stays_at_an_empty_input", "switch/poller", "five", "sim/switch/poller.hpp",
           "if (goes && ++read_ < most_) return;", "if (++read_ < most_) return;"),
    Mutant("cpp_poller_holds_for_ever", "switch/poller", "circuits", "sim/switch/poller.hpp",
           "= !went.last;", "= true;"),
    Mutant("cpp_smi_circuit_output_of_each_packet", "smi/circuit", "all", "sim/smi/circuit.hpp",
           "Offer{packet, to_, left_ == 1}", "Offer{packet, to, left_ == 1}"),
    Mutant("cpp_smi_message_fifo_waits_when_full", "smi/message_fifo", "depth6", "sim/smi/message_fifo.hpp",
           "|| begun_ || !words_.ready())", "|| begun_)"),
    Mutant("cpp_smi_kernel_inputs_count_what_waits", "smi/kernel_inputs", "circuits", "sim/smi/kernel_inputs.hpp",
           "if (words_.ready(input)) circuits_", "circuits_"),
    Mutant("cpp_smi_send_kernel_table_of_half", "smi/send_kernel", "four_links", "sim/smi/send_kernel.hpp",
           "table_[packet->destination()]", "table_[packet->destination() & 127]"),
    Mutant("cpp_smi_receive_kernel_keeps_all", "smi/receive_kernel", "four_links", "sim/smi/receive_kernel.hpp",
           "packet.destination() == rank_ ?", "true ?"),
    Mutant("cpp_smi_packer_one_element_more", "smi/packer", "bytes32", "sim/smi/packer.hpp",
           "count_ >= per_packet", "count_ > per_packet"),
    Mutant("cpp_smi_push_flush_forgotten", "smi/push", "bytes32", "sim/smi/push.hpp",
           "(left_ == 1 || (in.element->flush && !circuit))", "left_ == 1"),
    Mutant("cpp_smi_push_circuits_too_short", "smi/push", "circuits", "sim/smi/push.hpp",
           "std::min(config_.circuits, packets_left_)", "std::min(config_.circuits - 1, packets_left_)"),
    Mutant("cpp_smi_pop_credited_before_open", "smi/pop", "int32", "sim/smi/pop.hpp",
           "(left_ > 0 || !credited())", "true"),
    Mutant("cpp_smi_pop_circuit_of_another", "smi/pop", "circuits", "sim/smi/pop.hpp",
           "begins_circuit() ? next_circuit_->source : source_", "source_"),
    Mutant("cpp_smi_node_less_for_links", "smi/node", "four_links", "sim/smi/node.hpp",
           "kLinkDepth = 8", "kLinkDepth = 7"),
    Mutant("cpp_smi_node_unrouted_waits", "smi/node", "four_links", "sim/smi/node.hpp",
           "++unrouted_;\n    return true;", "++unrouted_;\n    return false;"),
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
