// @ts-nocheck
/** The facts of a settlement, see `ledger/facts.ts`. Written by `npm run generate` from `scripts/serialisers.ts`. */
import Serializer from 'fast-json-stringify/lib/serializer.js'

export const factsText: (value: object) => string = (function anonymous(validator,serializer
) {
const {
  asString,
  asNumber,
  asBoolean,
  asDateTime,
  asDate,
  asTime,
  asUnsafeString,
  asPlainStringArray
} = serializer
const asInteger = serializer.asInteger.bind(serializer)
    const JSON_STR_BEGIN_OBJECT = '{'
    const JSON_STR_END_OBJECT = '}'
    const JSON_STR_BEGIN_ARRAY = '['
    const JSON_STR_END_ARRAY = ']'
    const JSON_STR_COMMA = ','
    const JSON_STR_COLONS = ':'
    const JSON_STR_QUOTE = '"'
    const JSON_STR_EMPTY_OBJECT = JSON_STR_BEGIN_OBJECT + JSON_STR_END_OBJECT
    const JSON_STR_EMPTY_ARRAY = JSON_STR_BEGIN_ARRAY + JSON_STR_END_ARRAY
    const JSON_STR_EMPTY_STRING = JSON_STR_QUOTE + JSON_STR_QUOTE
    const JSON_STR_NULL = 'null'
    function anonymous3 (obj) {
      // "#/properties/provider_responses/items/properties/dropped"
      let json = ''
    if (obj === null) return JSON_STR_EMPTY_ARRAY
    if (!Array.isArray(obj)) {
      throw new TypeError("The value of '#/properties/provider_responses/items/properties/dropped' does not match schema definition.")
    }
    const arrayLength = obj.length
      if (typeof arrayLength === 'number' && arrayLength >= 8 && Number.isInteger(arrayLength) && arrayLength <= 0xffffffff) {
        return asPlainStringArray(obj, arrayLength)
      }
    json += JSON_STR_BEGIN_ARRAY
      if (arrayLength > 0) {
        const value = obj[0]
        if (typeof value !== 'string') {
          if (value === null) { json += JSON_STR_EMPTY_STRING } else if (value instanceof Date) { json += JSON_STR_QUOTE + value.toISOString() + JSON_STR_QUOTE } else if (value instanceof RegExp) { json += asString(value.source) } else { json += asString(value.toString()) }
        } else { json += asString(value) }
        for (let i = 1; i < arrayLength; i++) {
          json += JSON_STR_COMMA
          const value = obj[i]
        if (typeof value !== 'string') {
          if (value === null) { json += JSON_STR_EMPTY_STRING } else if (value instanceof Date) { json += JSON_STR_QUOTE + value.toISOString() + JSON_STR_QUOTE } else if (value instanceof RegExp) { json += asString(value.source) } else { json += asString(value.toString()) }
        } else { json += asString(value) }
        }
      }
      return json + JSON_STR_END_ARRAY
    }
      // "#/properties/provider_responses/items/properties/answer_check"
      function anonymous4 (input) {
        const obj = (input && typeof input.toJSON === 'function')
    ? input.toJSON()
    : input
        if (obj === null) return JSON_STR_EMPTY_OBJECT
        let json = ''
        let addComma_37 = false
          const value_verdict_38 = obj["verdict"]
          if (value_verdict_38 !== undefined) {
            json += addComma_37 ? ",\"verdict\":" : ((addComma_37 = true), "{\"verdict\":")
        if (typeof value_verdict_38 !== 'string') {
          if (value_verdict_38 === null) { json += JSON_STR_EMPTY_STRING } else if (value_verdict_38 instanceof Date) { json += JSON_STR_QUOTE + value_verdict_38.toISOString() + JSON_STR_QUOTE } else if (value_verdict_38 instanceof RegExp) { json += asString(value_verdict_38.source) } else { json += asString(value_verdict_38.toString()) }
        } else { json += asString(value_verdict_38) }
          }
          const value_keyword_39 = obj["keyword"]
          if (value_keyword_39 !== undefined) {
            json += addComma_37 ? ",\"keyword\":" : ((addComma_37 = true), "{\"keyword\":")
        if (typeof value_keyword_39 !== 'string') {
          if (value_keyword_39 === null) { json += JSON_STR_EMPTY_STRING } else if (value_keyword_39 instanceof Date) { json += JSON_STR_QUOTE + value_keyword_39.toISOString() + JSON_STR_QUOTE } else if (value_keyword_39 instanceof RegExp) { json += asString(value_keyword_39.source) } else { json += asString(value_keyword_39.toString()) }
        } else { json += asString(value_keyword_39) }
          }
          const value_tool_40 = obj["tool"]
          if (value_tool_40 !== undefined) {
            json += addComma_37 ? ",\"tool\":" : ((addComma_37 = true), "{\"tool\":")
        if (typeof value_tool_40 !== 'string') {
          if (value_tool_40 === null) { json += JSON_STR_EMPTY_STRING } else if (value_tool_40 instanceof Date) { json += JSON_STR_QUOTE + value_tool_40.toISOString() + JSON_STR_QUOTE } else if (value_tool_40 instanceof RegExp) { json += asString(value_tool_40.source) } else { json += asString(value_tool_40.toString()) }
        } else { json += asString(value_tool_40) }
          }
if (!addComma_37) json += JSON_STR_BEGIN_OBJECT
return json + JSON_STR_END_OBJECT
      }
      // "#/properties/provider_responses/items"
      function anonymous2 (input) {
        const obj = (input && typeof input.toJSON === 'function')
    ? input.toJSON()
    : input
        if (obj === null) return JSON_STR_EMPTY_OBJECT
        let json = ''
        let addComma_29 = false
          const value_provider_name_30 = obj["provider_name"]
          if (value_provider_name_30 !== undefined) {
            json += addComma_29 ? ",\"provider_name\":" : ((addComma_29 = true), "{\"provider_name\":")
        if (typeof value_provider_name_30 !== 'string') {
          if (value_provider_name_30 === null) { json += JSON_STR_EMPTY_STRING } else if (value_provider_name_30 instanceof Date) { json += JSON_STR_QUOTE + value_provider_name_30.toISOString() + JSON_STR_QUOTE } else if (value_provider_name_30 instanceof RegExp) { json += asString(value_provider_name_30.source) } else { json += asString(value_provider_name_30.toString()) }
        } else { json += asString(value_provider_name_30) }
          }
          const value_endpoint_31 = obj["endpoint"]
          if (value_endpoint_31 !== undefined) {
            json += addComma_29 ? ",\"endpoint\":" : ((addComma_29 = true), "{\"endpoint\":")
        if (typeof value_endpoint_31 !== 'string') {
          if (value_endpoint_31 === null) { json += JSON_STR_EMPTY_STRING } else if (value_endpoint_31 instanceof Date) { json += JSON_STR_QUOTE + value_endpoint_31.toISOString() + JSON_STR_QUOTE } else if (value_endpoint_31 instanceof RegExp) { json += asString(value_endpoint_31.source) } else { json += asString(value_endpoint_31.toString()) }
        } else { json += asString(value_endpoint_31) }
          }
          const value_status_32 = obj["status"]
          if (value_status_32 !== undefined) {
            json += addComma_29 ? ",\"status\":" : ((addComma_29 = true), "{\"status\":")
      if (value_status_32 === null) { json += JSON_STR_NULL } else { json += asNumber(value_status_32) }
          }
          const value_latency_33 = obj["latency"]
          if (value_latency_33 !== undefined) {
            json += addComma_29 ? ",\"latency\":" : ((addComma_29 = true), "{\"latency\":")
            json += asNumber(value_latency_33)
          }
          const value_code_34 = obj["code"]
          if (value_code_34 !== undefined) {
            json += addComma_29 ? ",\"code\":" : ((addComma_29 = true), "{\"code\":")
        if (typeof value_code_34 !== 'string') {
          if (value_code_34 === null) { json += JSON_STR_EMPTY_STRING } else if (value_code_34 instanceof Date) { json += JSON_STR_QUOTE + value_code_34.toISOString() + JSON_STR_QUOTE } else if (value_code_34 instanceof RegExp) { json += asString(value_code_34.source) } else { json += asString(value_code_34.toString()) }
        } else { json += asString(value_code_34) }
          }
          const value_dropped_35 = obj["dropped"]
          if (value_dropped_35 !== undefined) {
            json += addComma_29 ? ",\"dropped\":" : ((addComma_29 = true), "{\"dropped\":")
            json += anonymous3(value_dropped_35)
          }
          const value_answer_check_36 = obj["answer_check"]
          if (value_answer_check_36 !== undefined) {
            json += addComma_29 ? ",\"answer_check\":" : ((addComma_29 = true), "{\"answer_check\":")
            json += anonymous4(value_answer_check_36)
          }
          const value_at_41 = obj["at"]
          if (value_at_41 !== undefined) {
            json += addComma_29 ? ",\"at\":" : ((addComma_29 = true), "{\"at\":")
            json += asNumber(value_at_41)
          }
          const value_took_42 = obj["took"]
          if (value_took_42 !== undefined) {
            json += addComma_29 ? ",\"took\":" : ((addComma_29 = true), "{\"took\":")
            json += asNumber(value_took_42)
          }
          const value_turn_43 = obj["turn"]
          if (value_turn_43 !== undefined) {
            json += addComma_29 ? ",\"turn\":" : ((addComma_29 = true), "{\"turn\":")
            json += asNumber(value_turn_43)
          }
if (!addComma_29) json += JSON_STR_BEGIN_OBJECT
return json + JSON_STR_END_OBJECT
      }
    function anonymous1 (obj) {
      // "#/properties/provider_responses"
      let json = ''
    if (obj === null) return JSON_STR_EMPTY_ARRAY
    if (!Array.isArray(obj)) {
      throw new TypeError("The value of '#/properties/provider_responses' does not match schema definition.")
    }
    const arrayLength = obj.length
    json += JSON_STR_BEGIN_ARRAY
      if (arrayLength > 0) {
        const value = obj[0]
        json += anonymous2(value)
        for (let i = 1; i < arrayLength; i++) {
          json += JSON_STR_COMMA
          const value = obj[i]
          json += anonymous2(value)
        }
      }
      return json + JSON_STR_END_ARRAY
    }
      // "#"
      function anonymous0 (input) {
        const obj = (input && typeof input.toJSON === 'function')
    ? input.toJSON()
    : input
        if (obj === null) return JSON_STR_EMPTY_OBJECT
        let json = ''
        let addComma_0 = false
          const value_model_1 = obj["model"]
          if (value_model_1 !== undefined) {
            json += addComma_0 ? ",\"model\":" : ((addComma_0 = true), "{\"model\":")
        if (typeof value_model_1 !== 'string') {
          if (value_model_1 === null) { json += JSON_STR_EMPTY_STRING } else if (value_model_1 instanceof Date) { json += JSON_STR_QUOTE + value_model_1.toISOString() + JSON_STR_QUOTE } else if (value_model_1 instanceof RegExp) { json += asString(value_model_1.source) } else { json += asString(value_model_1.toString()) }
        } else { json += asString(value_model_1) }
          }
          const value_provider_2 = obj["provider"]
          if (value_provider_2 !== undefined) {
            json += addComma_0 ? ",\"provider\":" : ((addComma_0 = true), "{\"provider\":")
        if (typeof value_provider_2 !== 'string') {
          if (value_provider_2 === null) { json += JSON_STR_EMPTY_STRING } else if (value_provider_2 instanceof Date) { json += JSON_STR_QUOTE + value_provider_2.toISOString() + JSON_STR_QUOTE } else if (value_provider_2 instanceof RegExp) { json += asString(value_provider_2.source) } else { json += asString(value_provider_2.toString()) }
        } else { json += asString(value_provider_2) }
          }
          const value_endpoint_3 = obj["endpoint"]
          if (value_endpoint_3 !== undefined) {
            json += addComma_0 ? ",\"endpoint\":" : ((addComma_0 = true), "{\"endpoint\":")
        if (typeof value_endpoint_3 !== 'string') {
          if (value_endpoint_3 === null) { json += JSON_STR_EMPTY_STRING } else if (value_endpoint_3 instanceof Date) { json += JSON_STR_QUOTE + value_endpoint_3.toISOString() + JSON_STR_QUOTE } else if (value_endpoint_3 instanceof RegExp) { json += asString(value_endpoint_3.source) } else { json += asString(value_endpoint_3.toString()) }
        } else { json += asString(value_endpoint_3) }
          }
          const value_router_4 = obj["router"]
          if (value_router_4 !== undefined) {
            json += addComma_0 ? ",\"router\":" : ((addComma_0 = true), "{\"router\":")
        if (typeof value_router_4 !== 'string') {
          if (value_router_4 === null) { json += JSON_STR_EMPTY_STRING } else if (value_router_4 instanceof Date) { json += JSON_STR_QUOTE + value_router_4.toISOString() + JSON_STR_QUOTE } else if (value_router_4 instanceof RegExp) { json += asString(value_router_4.source) } else { json += asString(value_router_4.toString()) }
        } else { json += asString(value_router_4) }
          }
          const value_operation_5 = obj["operation"]
          if (value_operation_5 !== undefined) {
            json += addComma_0 ? ",\"operation\":" : ((addComma_0 = true), "{\"operation\":")
        if (typeof value_operation_5 !== 'string') {
          if (value_operation_5 === null) { json += JSON_STR_EMPTY_STRING } else if (value_operation_5 instanceof Date) { json += JSON_STR_QUOTE + value_operation_5.toISOString() + JSON_STR_QUOTE } else if (value_operation_5 instanceof RegExp) { json += asString(value_operation_5.source) } else { json += asString(value_operation_5.toString()) }
        } else { json += asString(value_operation_5) }
          }
          const value_api_type_6 = obj["api_type"]
          if (value_api_type_6 !== undefined) {
            json += addComma_0 ? ",\"api_type\":" : ((addComma_0 = true), "{\"api_type\":")
        if (typeof value_api_type_6 !== 'string') {
          if (value_api_type_6 === null) { json += JSON_STR_EMPTY_STRING } else if (value_api_type_6 instanceof Date) { json += JSON_STR_QUOTE + value_api_type_6.toISOString() + JSON_STR_QUOTE } else if (value_api_type_6 instanceof RegExp) { json += asString(value_api_type_6.source) } else { json += asString(value_api_type_6.toString()) }
        } else { json += asString(value_api_type_6) }
          }
          const value_user_7 = obj["user"]
          if (value_user_7 !== undefined) {
            json += addComma_0 ? ",\"user\":" : ((addComma_0 = true), "{\"user\":")
        if (typeof value_user_7 !== 'string') {
          if (value_user_7 === null) { json += JSON_STR_EMPTY_STRING } else if (value_user_7 instanceof Date) { json += JSON_STR_QUOTE + value_user_7.toISOString() + JSON_STR_QUOTE } else if (value_user_7 instanceof RegExp) { json += asString(value_user_7.source) } else { json += asString(value_user_7.toString()) }
        } else { json += asString(value_user_7) }
          }
          const value_session_id_8 = obj["session_id"]
          if (value_session_id_8 !== undefined) {
            json += addComma_0 ? ",\"session_id\":" : ((addComma_0 = true), "{\"session_id\":")
        if (typeof value_session_id_8 !== 'string') {
          if (value_session_id_8 === null) { json += JSON_STR_EMPTY_STRING } else if (value_session_id_8 instanceof Date) { json += JSON_STR_QUOTE + value_session_id_8.toISOString() + JSON_STR_QUOTE } else if (value_session_id_8 instanceof RegExp) { json += asString(value_session_id_8.source) } else { json += asString(value_session_id_8.toString()) }
        } else { json += asString(value_session_id_8) }
          }
          const value_finish_reason_9 = obj["finish_reason"]
          if (value_finish_reason_9 !== undefined) {
            json += addComma_0 ? ",\"finish_reason\":" : ((addComma_0 = true), "{\"finish_reason\":")
        if (typeof value_finish_reason_9 !== 'string') {
          if (value_finish_reason_9 === null) { json += JSON_STR_EMPTY_STRING } else if (value_finish_reason_9 instanceof Date) { json += JSON_STR_QUOTE + value_finish_reason_9.toISOString() + JSON_STR_QUOTE } else if (value_finish_reason_9 instanceof RegExp) { json += asString(value_finish_reason_9.source) } else { json += asString(value_finish_reason_9.toString()) }
        } else { json += asString(value_finish_reason_9) }
          }
          const value_native_finish_reason_10 = obj["native_finish_reason"]
          if (value_native_finish_reason_10 !== undefined) {
            json += addComma_0 ? ",\"native_finish_reason\":" : ((addComma_0 = true), "{\"native_finish_reason\":")
        if (typeof value_native_finish_reason_10 !== 'string') {
          if (value_native_finish_reason_10 === null) { json += JSON_STR_EMPTY_STRING } else if (value_native_finish_reason_10 instanceof Date) { json += JSON_STR_QUOTE + value_native_finish_reason_10.toISOString() + JSON_STR_QUOTE } else if (value_native_finish_reason_10 instanceof RegExp) { json += asString(value_native_finish_reason_10.source) } else { json += asString(value_native_finish_reason_10.toString()) }
        } else { json += asString(value_native_finish_reason_10) }
          }
          const value_latency_11 = obj["latency"]
          if (value_latency_11 !== undefined) {
            json += addComma_0 ? ",\"latency\":" : ((addComma_0 = true), "{\"latency\":")
            json += asNumber(value_latency_11)
          }
          const value_generation_time_12 = obj["generation_time"]
          if (value_generation_time_12 !== undefined) {
            json += addComma_0 ? ",\"generation_time\":" : ((addComma_0 = true), "{\"generation_time\":")
            json += asNumber(value_generation_time_12)
          }
          const value_streamed_13 = obj["streamed"]
          if (value_streamed_13 !== undefined) {
            json += addComma_0 ? ",\"streamed\":" : ((addComma_0 = true), "{\"streamed\":")
            json += asBoolean(value_streamed_13)
          }
          const value_sent_at_14 = obj["sent_at"]
          if (value_sent_at_14 !== undefined) {
            json += addComma_0 ? ",\"sent_at\":" : ((addComma_0 = true), "{\"sent_at\":")
            json += asNumber(value_sent_at_14)
          }
          const value_why_15 = obj["why"]
          if (value_why_15 !== undefined) {
            json += addComma_0 ? ",\"why\":" : ((addComma_0 = true), "{\"why\":")
            json += asUnsafeString(value_why_15)
          }
          const value_rates_16 = obj["rates"]
          if (value_rates_16 !== undefined) {
            json += addComma_0 ? ",\"rates\":" : ((addComma_0 = true), "{\"rates\":")
            json += asUnsafeString(value_rates_16)
          }
          const value_charge_reason_17 = obj["charge_reason"]
          if (value_charge_reason_17 !== undefined) {
            json += addComma_0 ? ",\"charge_reason\":" : ((addComma_0 = true), "{\"charge_reason\":")
        if (typeof value_charge_reason_17 !== 'string') {
          if (value_charge_reason_17 === null) { json += JSON_STR_EMPTY_STRING } else if (value_charge_reason_17 instanceof Date) { json += JSON_STR_QUOTE + value_charge_reason_17.toISOString() + JSON_STR_QUOTE } else if (value_charge_reason_17 instanceof RegExp) { json += asString(value_charge_reason_17.source) } else { json += asString(value_charge_reason_17.toString()) }
        } else { json += asString(value_charge_reason_17) }
          }
          const value_fault_18 = obj["fault"]
          if (value_fault_18 !== undefined) {
            json += addComma_0 ? ",\"fault\":" : ((addComma_0 = true), "{\"fault\":")
        if (typeof value_fault_18 !== 'string') {
          if (value_fault_18 === null) { json += JSON_STR_EMPTY_STRING } else if (value_fault_18 instanceof Date) { json += JSON_STR_QUOTE + value_fault_18.toISOString() + JSON_STR_QUOTE } else if (value_fault_18 instanceof RegExp) { json += asString(value_fault_18.source) } else { json += asString(value_fault_18.toString()) }
        } else { json += asString(value_fault_18) }
          }
          const value_trace_id_19 = obj["trace_id"]
          if (value_trace_id_19 !== undefined) {
            json += addComma_0 ? ",\"trace_id\":" : ((addComma_0 = true), "{\"trace_id\":")
        if (typeof value_trace_id_19 !== 'string') {
          if (value_trace_id_19 === null) { json += JSON_STR_EMPTY_STRING } else if (value_trace_id_19 instanceof Date) { json += JSON_STR_QUOTE + value_trace_id_19.toISOString() + JSON_STR_QUOTE } else if (value_trace_id_19 instanceof RegExp) { json += asString(value_trace_id_19.source) } else { json += asString(value_trace_id_19.toString()) }
        } else { json += asString(value_trace_id_19) }
          }
          const value_cache_discount_20 = obj["cache_discount"]
          if (value_cache_discount_20 !== undefined) {
            json += addComma_0 ? ",\"cache_discount\":" : ((addComma_0 = true), "{\"cache_discount\":")
            json += asNumber(value_cache_discount_20)
          }
          const value_tools_cost_21 = obj["tools_cost"]
          if (value_tools_cost_21 !== undefined) {
            json += addComma_0 ? ",\"tools_cost\":" : ((addComma_0 = true), "{\"tools_cost\":")
            json += asNumber(value_tools_cost_21)
          }
          const value_price_unknown_22 = obj["price_unknown"]
          if (value_price_unknown_22 !== undefined) {
            json += addComma_0 ? ",\"price_unknown\":" : ((addComma_0 = true), "{\"price_unknown\":")
            json += asBoolean(value_price_unknown_22)
          }
          const value_num_search_results_23 = obj["num_search_results"]
          if (value_num_search_results_23 !== undefined) {
            json += addComma_0 ? ",\"num_search_results\":" : ((addComma_0 = true), "{\"num_search_results\":")
            json += asNumber(value_num_search_results_23)
          }
          const value_num_fetches_24 = obj["num_fetches"]
          if (value_num_fetches_24 !== undefined) {
            json += addComma_0 ? ",\"num_fetches\":" : ((addComma_0 = true), "{\"num_fetches\":")
            json += asNumber(value_num_fetches_24)
          }
          const value_web_search_engine_25 = obj["web_search_engine"]
          if (value_web_search_engine_25 !== undefined) {
            json += addComma_0 ? ",\"web_search_engine\":" : ((addComma_0 = true), "{\"web_search_engine\":")
        if (typeof value_web_search_engine_25 !== 'string') {
          if (value_web_search_engine_25 === null) { json += JSON_STR_EMPTY_STRING } else if (value_web_search_engine_25 instanceof Date) { json += JSON_STR_QUOTE + value_web_search_engine_25.toISOString() + JSON_STR_QUOTE } else if (value_web_search_engine_25 instanceof RegExp) { json += asString(value_web_search_engine_25.source) } else { json += asString(value_web_search_engine_25.toString()) }
        } else { json += asString(value_web_search_engine_25) }
          }
          const value_moderation_latency_26 = obj["moderation_latency"]
          if (value_moderation_latency_26 !== undefined) {
            json += addComma_0 ? ",\"moderation_latency\":" : ((addComma_0 = true), "{\"moderation_latency\":")
            json += asNumber(value_moderation_latency_26)
          }
          const value_credit_output_cap_27 = obj["credit_output_cap"]
          if (value_credit_output_cap_27 !== undefined) {
            json += addComma_0 ? ",\"credit_output_cap\":" : ((addComma_0 = true), "{\"credit_output_cap\":")
            json += asNumber(value_credit_output_cap_27)
          }
          const value_provider_responses_28 = obj["provider_responses"]
          if (value_provider_responses_28 !== undefined) {
            json += addComma_0 ? ",\"provider_responses\":" : ((addComma_0 = true), "{\"provider_responses\":")
            json += anonymous1(value_provider_responses_28)
          }
          const value_detail_44 = obj["detail"]
          if (value_detail_44 !== undefined) {
            json += addComma_0 ? ",\"detail\":" : ((addComma_0 = true), "{\"detail\":")
        if (typeof value_detail_44 !== 'string') {
          if (value_detail_44 === null) { json += JSON_STR_EMPTY_STRING } else if (value_detail_44 instanceof Date) { json += JSON_STR_QUOTE + value_detail_44.toISOString() + JSON_STR_QUOTE } else if (value_detail_44 instanceof RegExp) { json += asString(value_detail_44.source) } else { json += asString(value_detail_44.toString()) }
        } else { json += asString(value_detail_44) }
          }
          const value_inputs_45 = obj["inputs"]
          if (value_inputs_45 !== undefined) {
            json += addComma_0 ? ",\"inputs\":" : ((addComma_0 = true), "{\"inputs\":")
        if (typeof value_inputs_45 !== 'string') {
          if (value_inputs_45 === null) { json += JSON_STR_EMPTY_STRING } else if (value_inputs_45 instanceof Date) { json += JSON_STR_QUOTE + value_inputs_45.toISOString() + JSON_STR_QUOTE } else if (value_inputs_45 instanceof RegExp) { json += asString(value_inputs_45.source) } else { json += asString(value_inputs_45.toString()) }
        } else { json += asString(value_inputs_45) }
          }
          const value_service_tier_46 = obj["service_tier"]
          if (value_service_tier_46 !== undefined) {
            json += addComma_0 ? ",\"service_tier\":" : ((addComma_0 = true), "{\"service_tier\":")
        if (typeof value_service_tier_46 !== 'string') {
          if (value_service_tier_46 === null) { json += JSON_STR_EMPTY_STRING } else if (value_service_tier_46 instanceof Date) { json += JSON_STR_QUOTE + value_service_tier_46.toISOString() + JSON_STR_QUOTE } else if (value_service_tier_46 instanceof RegExp) { json += asString(value_service_tier_46.source) } else { json += asString(value_service_tier_46.toString()) }
        } else { json += asString(value_service_tier_46) }
          }
          const value_http_referer_47 = obj["http_referer"]
          if (value_http_referer_47 !== undefined) {
            json += addComma_0 ? ",\"http_referer\":" : ((addComma_0 = true), "{\"http_referer\":")
        if (typeof value_http_referer_47 !== 'string') {
          if (value_http_referer_47 === null) { json += JSON_STR_EMPTY_STRING } else if (value_http_referer_47 instanceof Date) { json += JSON_STR_QUOTE + value_http_referer_47.toISOString() + JSON_STR_QUOTE } else if (value_http_referer_47 instanceof RegExp) { json += asString(value_http_referer_47.source) } else { json += asString(value_http_referer_47.toString()) }
        } else { json += asString(value_http_referer_47) }
          }
          const value_app_title_48 = obj["app_title"]
          if (value_app_title_48 !== undefined) {
            json += addComma_0 ? ",\"app_title\":" : ((addComma_0 = true), "{\"app_title\":")
        if (typeof value_app_title_48 !== 'string') {
          if (value_app_title_48 === null) { json += JSON_STR_EMPTY_STRING } else if (value_app_title_48 instanceof Date) { json += JSON_STR_QUOTE + value_app_title_48.toISOString() + JSON_STR_QUOTE } else if (value_app_title_48 instanceof RegExp) { json += asString(value_app_title_48.source) } else { json += asString(value_app_title_48.toString()) }
        } else { json += asString(value_app_title_48) }
          }
if (!addComma_0) json += JSON_STR_BEGIN_OBJECT
return json + JSON_STR_END_OBJECT
      }
    const main = anonymous0
    return main
})(null, new Serializer())
