/*
 * Refusals of the service in Hindi. The service says them in English itself, so English has no texts of its own for them.
 */

/** By the code of the refusal, for sentences that are not below. */
export const codes: Readonly<Record<string, string>> = {
  bad_request: 'अनुरोध सही नहीं है।',
  unprocessable_entity: 'मौजूदा जानकारी के साथ यह नहीं हो सकता।',
  not_found: 'यह चीज़ मौजूद नहीं है।',
  conflict: 'मौजूदा स्थिति में यह नहीं हो सकता।',
  precondition_failed: 'इसे इस बीच किसी और ने बदल दिया है।',
  environment_mismatch: 'यह दूसरे परिवेश (परीक्षण या लाइव) का है।',
  missing_variables: 'एजेंट के ज़रूरी वैरिएबल नहीं दिए गए।',
  unauthenticated: 'आप साइन इन नहीं हैं।',
  invalid_credentials: 'पता या पासवर्ड ग़लत है।',
  forbidden: 'इसकी अनुमति नहीं है।',
  insufficient_scope: 'इस कुंजी को इसकी अनुमति नहीं है।',
  email_not_verified: 'पहले अपने ईमेल पते की पुष्टि करें।',
  email_exists: 'इस ईमेल पते का खाता पहले से है।',
  invalid_token: 'लिंक ग़लत है या पहले इस्तेमाल हो चुका है।',
  token_expired: 'लिंक की अवधि ख़त्म हो चुकी है।',
  blocked_dnd: 'यह नंबर कॉल-न-करें सूची या DND रजिस्टर में है।',
  blocked_opt_out: 'अभी कॉल की अनुमति नहीं है: कॉल का समय नहीं है, या संगठन की कॉल रोकी गई हैं।',
  blocked_dlt_invalid: 'ज़रूरी घोषणा या पंजीकरण नहीं है।',
  insufficient_funds: 'वॉलेट में पैसे कम हैं।',
  concurrent_call_limit_reached: 'एक साथ चलने वाली कॉल की सीमा पूरी हो गई है।',
  number_unavailable: 'यह नंबर अब उपलब्ध नहीं है।',
  provider_unavailable: 'कैरियर या पेमेंट गेटवे तक पहुँच नहीं है।',
  provider_quota_exhausted: 'कैरियर की आज की सीमा पूरी हो गई है।',
  provider_rejected: 'कैरियर या पेमेंट गेटवे ने अनुरोध ठुकरा दिया।',
  call_not_live: 'कॉल नहीं चल रही है, या उस पर एजेंट नहीं है।',
  sip_trunking_request_pending: 'अनुरोध पर फ़ैसला बाकी है।',
  sip_trunking_already_enabled: 'संगठन पहले से SIP ट्रंक बना सकता है।',
  sip_trunking_not_enabled: 'संगठन को SIP ट्रंक बनाने की अनुमति नहीं है।',
  billing_details_required: 'बिल का नाम, पता और राज्य नहीं भरे गए हैं।',
  price_changed: 'क़ीमत बदल गई है। नई क़ीमत की पुष्टि करें।',
  compliance_incomplete: 'कॉल की क़ानूनी शर्तें पूरी नहीं हैं।',
  knowledge_base_not_ready: 'ज्ञान-संग्रह अभी तैयार नहीं है।',
  document_too_large: 'दस्तावेज़ बहुत बड़ा है।',
  sip_trunk_not_active: 'SIP ट्रंक सक्रिय नहीं है।',
  sip_trunk_has_numbers: 'SIP ट्रंक पर अब भी नंबर हैं।',
}

/** By the words of the sentence (`sentenceKey` in parts/Word.tsx). */
export const refusals: Readonly<Record<string, string>> = {
  the_code_or_the_passkey_is_wrong_or_was_used_before: 'कोड या पासकी ग़लत है, या पहले इस्तेमाल हो चुकी है।',
  this_request_for_a_proof_is_over_start_again: 'इस प्रमाण का समय या मौके ख़त्म हो गए। फिर से शुरू करें।',
  the_time_for_the_proof_is_over_start_again: 'प्रमाण देने का समय ख़त्म हो गया। फिर से शुरू करें।',
  there_is_no_such_request_for_a_proof_sign_in_again: 'यह प्रमाण नहीं माँगा गया था। फिर से साइन इन करें।',
  the_code_is_wrong_check_the_clock_of_the_device_and_send_the_code_that_it_shows_now:
    'कोड ग़लत है। उपकरण की घड़ी जाँचें और अभी दिख रहा कोड डालें।',
  your_account_needs_a_second_factor_add_another_one_before_you_remove_this_one:
    'आपके खाते में दूसरा प्रमाण ज़रूरी है। इसे हटाने से पहले एक और जोड़ें।',
  add_a_second_factor_to_your_own_account_first_you_would_shut_yourself_out_of_the_organization:
    'पहले अपने खाते में दूसरा प्रमाण जोड़ें, नहीं तो आप ख़ुद संगठन से बाहर हो जाएँगे।',
  a_second_member_of_staff_has_to_approve_an_adjustment_that_you_asked_for:
    'आपके माँगे हुए सुधार को कोई दूसरा कर्मचारी ही मंज़ूर कर सकता है।',
  the_adjustment_was_decided_before: 'इस सुधार पर फ़ैसला पहले हो चुका है।',
  an_adjustment_with_this_reference_waits_for_a_decision: 'इस संदर्भ का सुधार पहले से फ़ैसले की प्रतीक्षा में है।',
  a_connection_with_this_name_already_exists_choose_another_name: 'इस नाम का कनेक्शन पहले से है। दूसरा नाम चुनें।',
  a_secret_with_this_name_already_exists_choose_another_name: 'इस नाम का सीक्रेट पहले से है। दूसरा नाम चुनें।',
  a_destination_with_this_key_already_exists_choose_another_key: 'यह नाम पहले से किसी और गंतव्य का है। दूसरा चुनें।',
  a_build_of_the_knowledge_base_is_running_wait_until_it_ends: 'ज्ञान-संग्रह बन रहा है। उसके पूरा होने तक रुकें।',
  a_knowledge_base_of_the_agent_has_not_been_built_yet_build_it_first:
    'एजेंट का एक ज्ञान-संग्रह अभी बना नहीं है। पहले उसे बनाएँ।',
  a_verification_is_already_pending_or_granted: 'सत्यापन पहले से चल रहा है या हो चुका है।',
  a_voice_or_model_of_the_agent_is_not_available: 'एजेंट की आवाज़ या मॉडल उपलब्ध नहीं है।',
  an_organization_needs_at_least_one_owner_make_another_member_owner_first:
    'संगठन में कम से कम एक मालिक चाहिए: पहले किसी और सदस्य को मालिक बनाएँ।',
  another_request_changed_the_agent_at_the_same_time_read_it_and_try_again:
    'इसी समय किसी और ने एजेंट बदला। उसे देखकर फिर कोशिश करें।',
  another_upload_to_the_campaign_is_running_retry_when_it_has_ended:
    'अभियान में दूसरा अपलोड चल रहा है। उसके बाद फिर कोशिश करें।',
  no_active_number_can_place_the_call_get_a_number_first: 'कॉल के लिए कोई सक्रिय नंबर नहीं है। पहले नंबर लें।',
  no_agent_is_on_the_call: 'कॉल पर कोई एजेंट नहीं है।',
  no_code_waits_for_a_confirmation_place_a_verification_call_first:
    'पुष्टि के लिए कोई कोड नहीं है। पहले सत्यापन कॉल करें।',
  no_enabled_endpoint_is_subscribed_to_this_event_type: 'कोई चालू वेबहुक यह घटना नहीं लेता।',
  no_recipient_can_be_called: 'किसी को भी कॉल नहीं की जा सकती।',
  only_a_draft_can_be_deleted_archive_the_campaign: 'केवल ड्राफ़्ट हटाया जा सकता है।',
  only_a_draft_can_be_launched: 'केवल ड्राफ़्ट शुरू किया जा सकता है।',
  only_an_owner_can_manage_owners: 'मालिकों को केवल मालिक बदल सकते हैं।',
  recipients_can_be_added_to_a_draft_or_a_paused_campaign_only:
    'लोग केवल ड्राफ़्ट या रुके हुए अभियान में जोड़े जा सकते हैं।',
  remove_the_numbers_of_the_trunk_first: 'पहले ट्रंक के नंबर हटाएँ।',
  someone_is_already_taking_over_the_call: 'कोई और कॉल संभाल रहा है।',
  the_address_or_the_password_is_wrong: 'पता या पासवर्ड ग़लत है।',
  the_gstin_belongs_to_another_pan_correct_gstin_or_pan: 'GSTIN किसी और PAN का है। दोनों में से एक सुधारें।',
  a_recipient_in_a_special_economic_zone_needs_its_gstin: 'विशेष आर्थिक क्षेत्र के लिए GSTIN ज़रूरी है।',
  the_agent_has_no_published_version_publish_it_or_use_its_draft:
    'एजेंट का कोई प्रकाशित संस्करण नहीं है। उसे प्रकाशित करें, या ड्राफ़्ट चुनें।',
  the_agent_has_no_system_prompt_set_systemprompt_before_publishing:
    'एजेंट के निर्देश खाली हैं। प्रकाशित करने से पहले उन्हें लिखें।',
  the_agent_is_on_a_call_delete_it_after_its_calls_have_ended: 'एजेंट कॉल पर है। उसकी कॉल ख़त्म होने के बाद हटाएँ।',
  there_is_nothing_to_publish_the_draft_equals_the_published_version:
    'प्रकाशित करने को कुछ नहीं है: ड्राफ़्ट प्रकाशित संस्करण जैसा ही है।',
  the_draft_has_changed_since_you_read_it_try_again: 'ड्राफ़्ट इस बीच बदल गया है। फिर कोशिश करें।',
  the_campaign_has_changed_since_you_read_it_read_it_again: 'अभियान इस बीच बदल गया है। उसे फिर से देखें।',
  the_campaign_has_changed_since_you_read_it_launch_it_again: 'अभियान इस बीच बदल गया है। फिर से शुरू करें।',
  the_call_is_not_in_progress: 'कॉल नहीं चल रही है।',
  the_call_is_being_transferred_to_a_person_or_a_person_has_it:
    'कॉल किसी व्यक्ति को दी जा रही है, या उसके पास है।',
  the_code_is_wrong_or_has_expired: 'कोड ग़लत है या उसकी अवधि ख़त्म हो चुकी है।',
  the_connection_is_in_use_remove_it_from_the_agents_in_details_agentids_first:
    'कनेक्शन इस्तेमाल में है। पहले उसे एजेंटों से हटाएँ।',
  the_secret_is_in_use_remove_it_from_the_objects_in_details_usedby_first:
    'सीक्रेट इस्तेमाल में है। पहले उसे वहाँ से हटाएँ।',
  agents_use_the_knowledge_base_remove_it_from_their_knowledgebaseids_first:
    'एजेंट यह ज्ञान-संग्रह इस्तेमाल करते हैं। पहले उसे उनसे हटाएँ।',
  the_knowledge_base_has_no_uploaded_documents_upload_one_first:
    'ज्ञान-संग्रह में कोई दस्तावेज़ नहीं है। पहले एक अपलोड करें।',
  the_knowledge_base_has_not_been_built_yet_build_it_first: 'ज्ञान-संग्रह अभी बना नहीं है। पहले उसे बनाएँ।',
  the_destination_is_disabled_set_enabled_to_true_first: 'गंतव्य बंद है। पहले उसे चालू करें।',
  the_destination_is_not_verified_in_this_environment: 'गंतव्य इस परिवेश में सत्यापित नहीं है।',
  the_destination_is_already_verified: 'गंतव्य पहले से सत्यापित है।',
  the_default_destination_must_be_one_of_the_destinations: 'मुख्य गंतव्य सूची के गंतव्यों में से होना चाहिए।',
  a_destination_cannot_be_its_own_fallback: 'कोई गंतव्य अपना ही विकल्प नहीं हो सकता।',
  the_endpoint_is_disabled_enable_it_first: 'वेबहुक बंद है। पहले उसे चालू करें।',
  the_url_is_not_allowed_details_issues_contains_the_reason: 'इस पते की अनुमति नहीं है।',
  the_number_is_not_active_use_another_number: 'नंबर सक्रिय नहीं है। दूसरा नंबर चुनें।',
  the_number_is_no_longer_for_sale_choose_another_one: 'नंबर अब बिक्री में नहीं है। दूसरा चुनें।',
  the_number_is_taken_choose_another_one: 'नंबर लिया जा चुका है। दूसरा चुनें।',
  the_person_opted_out_the_entry_cannot_be_removed_before_lockeduntil:
    'व्यक्ति ने कॉल से मना किया है। रोक की अवधि ख़त्म होने से पहले प्रविष्टि नहीं हटाई जा सकती।',
  the_price_changed_confirm_the_new_total: 'क़ीमत बदल गई है। नई क़ीमत की पुष्टि करें।',
  the_wallet_does_not_cover_set_up_and_the_first_month: 'वॉलेट में शुरुआती और पहले महीने की क़ीमत के लिए पैसे नहीं हैं।',
  this_address_already_belongs_to_a_member: 'यह पता पहले से किसी सदस्य का है।',
  the_voice_does_not_support_this_language: 'यह आवाज़ इस भाषा में नहीं बोलती।',
  the_recognition_model_does_not_support_this_language: 'पहचान का मॉडल यह भाषा नहीं समझता।',
  a_tool_is_a_preset_or_an_http_request_not_both: 'उपकरण या तो तैयार होता है या HTTP अनुरोध, दोनों नहीं।',
  a_connection_requires_an_http_request: 'कनेक्शन के लिए HTTP अनुरोध ज़रूरी है।',
  the_tool_has_no_action_it_needs_a_preset_an_http_request_or_an_enabled_mock:
    'उपकरण कुछ नहीं करता: उसे तैयार काम, HTTP अनुरोध या चालू नमूना चाहिए।',
  the_agent_does_not_exist: 'एजेंट मौजूद नहीं है।',
  the_call_does_not_exist: 'कॉल मौजूद नहीं है।',
  the_campaign_does_not_exist: 'अभियान मौजूद नहीं है।',
  the_knowledge_base_does_not_exist: 'ज्ञान-संग्रह मौजूद नहीं है।',
  the_sip_trunk_does_not_exist: 'SIP ट्रंक मौजूद नहीं है।',
  the_number_does_not_exist: 'नंबर मौजूद नहीं है।',
  too_many_attempts_try_again_in_n_s: 'बहुत सारी कोशिशें हुईं। {n} सेकंड बाद फिर कोशिश करें।',
}
