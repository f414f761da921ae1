"""The 66 features of the paper's appendix, in its order and by the names of the DementiaBank export."""

from __future__ import annotations

__all__ = ["PAPER_FEATURES"]

NAMES = """
long_pause_count_normalized medium_pause_duration mfcc_skewness_13 mfcc_var_32 TTR honore tag_IN tag_NN tag_POS
tag_VBD tag_VBG tag_VBZ pos_NOUN pos_ADP pos_VERB pos_ADJ category_inflected_verbs prp_ratio nv_ratio noun_ratio
speech_rate avg_word_duration age_of_acquisition NOUN_age_of_acquisition familiarity VERB_frequency imageability
NOUN_imageability sentiment_arousal sentiment_dominance sentiment_valence graph_avg_total_degree graph_pe_directed
graph_lsc graph_density graph_num_nodes graph_asp graph_pe_undirected graph_diameter_undirected Lu_DC Lu_DC/T Lu_CT
local_coherence_Google_300_avg_dist local_coherence_Google_300_min_dist constituency_NP_type_rate
constituency_PP_type_prop constituency_PP_type_rate ADJP_->_JJ ADVP_->_RB NP_->_DT_NN NP_->_PRP PP_->_TO_NP ROOT_->_S
SBAR_->_S VP_->_VB_ADJP VP_->_VBG VP_->_VBG_PP VP_->_VBG_S VP_->_VBZ_VP avg_word_length info_units_bool_count_object
info_units_bool_count_subject info_units_bool_count info_units_count_object info_units_count_subject info_units_count
"""
PAPER_FEATURES: tuple[str, ...] = tuple(NAMES.split())
"""Chosen by Boruta on FamousPeople out of 480."""
