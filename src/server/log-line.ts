// @ts-nocheck
/** The log's one line per exchange. Written by `npm run generate` from `scripts/serialisers.ts`. */
import Serializer from 'fast-json-stringify/lib/serializer.js'

export const logLine: (value: object) => string = (function anonymous(validator,serializer
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
      // "#"
      function anonymous0 (input) {
        const obj = (input && typeof input.toJSON === 'function')
    ? input.toJSON()
    : input
        if (obj === null) return JSON_STR_EMPTY_OBJECT
        let json = ''
        let addComma_0 = false
          const value_level_1 = obj["level"]
          if (value_level_1 !== undefined) {
            json += addComma_0 ? ",\"level\":" : ((addComma_0 = true), "{\"level\":")
            json += asNumber(value_level_1)
          }
          const value_time_2 = obj["time"]
          if (value_time_2 !== undefined) {
            json += addComma_0 ? ",\"time\":" : ((addComma_0 = true), "{\"time\":")
            json += asNumber(value_time_2)
          }
          const value_gen_3 = obj["gen"]
          if (value_gen_3 !== undefined) {
            json += addComma_0 ? ",\"gen\":" : ((addComma_0 = true), "{\"gen\":")
            json += asUnsafeString(value_gen_3)
          }
          const value_key_4 = obj["key"]
          if (value_key_4 !== undefined) {
            json += addComma_0 ? ",\"key\":" : ((addComma_0 = true), "{\"key\":")
        if (typeof value_key_4 !== 'string') {
          if (value_key_4 === null) { json += JSON_STR_EMPTY_STRING } else if (value_key_4 instanceof Date) { json += JSON_STR_QUOTE + value_key_4.toISOString() + JSON_STR_QUOTE } else if (value_key_4 instanceof RegExp) { json += asString(value_key_4.source) } else { json += asString(value_key_4.toString()) }
        } else { json += asString(value_key_4) }
          }
          const value_client_5 = obj["client"]
          if (value_client_5 !== undefined) {
            json += addComma_0 ? ",\"client\":" : ((addComma_0 = true), "{\"client\":")
            json += asUnsafeString(value_client_5)
          }
          const value_status_6 = obj["status"]
          if (value_status_6 !== undefined) {
            json += addComma_0 ? ",\"status\":" : ((addComma_0 = true), "{\"status\":")
            json += asNumber(value_status_6)
          }
          const value_fault_7 = obj["fault"]
          if (value_fault_7 !== undefined) {
            json += addComma_0 ? ",\"fault\":" : ((addComma_0 = true), "{\"fault\":")
            json += asUnsafeString(value_fault_7)
          }
          const value_model_8 = obj["model"]
          if (value_model_8 !== undefined) {
            json += addComma_0 ? ",\"model\":" : ((addComma_0 = true), "{\"model\":")
        if (typeof value_model_8 !== 'string') {
          if (value_model_8 === null) { json += JSON_STR_EMPTY_STRING } else if (value_model_8 instanceof Date) { json += JSON_STR_QUOTE + value_model_8.toISOString() + JSON_STR_QUOTE } else if (value_model_8 instanceof RegExp) { json += asString(value_model_8.source) } else { json += asString(value_model_8.toString()) }
        } else { json += asString(value_model_8) }
          }
          const value_requested_9 = obj["requested"]
          if (value_requested_9 !== undefined) {
            json += addComma_0 ? ",\"requested\":" : ((addComma_0 = true), "{\"requested\":")
        if (typeof value_requested_9 !== 'string') {
          if (value_requested_9 === null) { json += JSON_STR_EMPTY_STRING } else if (value_requested_9 instanceof Date) { json += JSON_STR_QUOTE + value_requested_9.toISOString() + JSON_STR_QUOTE } else if (value_requested_9 instanceof RegExp) { json += asString(value_requested_9.source) } else { json += asString(value_requested_9.toString()) }
        } else { json += asString(value_requested_9) }
          }
          const value_provider_10 = obj["provider"]
          if (value_provider_10 !== undefined) {
            json += addComma_0 ? ",\"provider\":" : ((addComma_0 = true), "{\"provider\":")
        if (typeof value_provider_10 !== 'string') {
          if (value_provider_10 === null) { json += JSON_STR_EMPTY_STRING } else if (value_provider_10 instanceof Date) { json += JSON_STR_QUOTE + value_provider_10.toISOString() + JSON_STR_QUOTE } else if (value_provider_10 instanceof RegExp) { json += asString(value_provider_10.source) } else { json += asString(value_provider_10.toString()) }
        } else { json += asString(value_provider_10) }
          }
          const value_lane_11 = obj["lane"]
          if (value_lane_11 !== undefined) {
            json += addComma_0 ? ",\"lane\":" : ((addComma_0 = true), "{\"lane\":")
            json += asUnsafeString(value_lane_11)
          }
          const value_stream_12 = obj["stream"]
          if (value_stream_12 !== undefined) {
            json += addComma_0 ? ",\"stream\":" : ((addComma_0 = true), "{\"stream\":")
            json += asBoolean(value_stream_12)
          }
          const value_attempts_13 = obj["attempts"]
          if (value_attempts_13 !== undefined) {
            json += addComma_0 ? ",\"attempts\":" : ((addComma_0 = true), "{\"attempts\":")
            json += asNumber(value_attempts_13)
          }
          const value_ms_14 = obj["ms"]
          if (value_ms_14 !== undefined) {
            json += addComma_0 ? ",\"ms\":" : ((addComma_0 = true), "{\"ms\":")
            json += asNumber(value_ms_14)
          }
          const value_first_ms_15 = obj["first_ms"]
          if (value_first_ms_15 !== undefined) {
            json += addComma_0 ? ",\"first_ms\":" : ((addComma_0 = true), "{\"first_ms\":")
            json += asNumber(value_first_ms_15)
          }
          const value_answer_check_16 = obj["answer_check"]
          if (value_answer_check_16 !== undefined) {
            json += addComma_0 ? ",\"answer_check\":" : ((addComma_0 = true), "{\"answer_check\":")
            json += asUnsafeString(value_answer_check_16)
          }
          const value_in_17 = obj["in"]
          if (value_in_17 !== undefined) {
            json += addComma_0 ? ",\"in\":" : ((addComma_0 = true), "{\"in\":")
            json += asNumber(value_in_17)
          }
          const value_out_18 = obj["out"]
          if (value_out_18 !== undefined) {
            json += addComma_0 ? ",\"out\":" : ((addComma_0 = true), "{\"out\":")
            json += asNumber(value_out_18)
          }
          const value_cost_nano_19 = obj["cost_nano"]
          if (value_cost_nano_19 !== undefined) {
            json += addComma_0 ? ",\"cost_nano\":" : ((addComma_0 = true), "{\"cost_nano\":")
            json += asNumber(value_cost_nano_19)
          }
          const value_trace_id_20 = obj["trace_id"]
          if (value_trace_id_20 !== undefined) {
            json += addComma_0 ? ",\"trace_id\":" : ((addComma_0 = true), "{\"trace_id\":")
            json += asUnsafeString(value_trace_id_20)
          }
          const value_span_id_21 = obj["span_id"]
          if (value_span_id_21 !== undefined) {
            json += addComma_0 ? ",\"span_id\":" : ((addComma_0 = true), "{\"span_id\":")
            json += asUnsafeString(value_span_id_21)
          }
          const value_cause_22 = obj["cause"]
          if (value_cause_22 !== undefined) {
            json += addComma_0 ? ",\"cause\":" : ((addComma_0 = true), "{\"cause\":")
        if (typeof value_cause_22 !== 'string') {
          if (value_cause_22 === null) { json += JSON_STR_EMPTY_STRING } else if (value_cause_22 instanceof Date) { json += JSON_STR_QUOTE + value_cause_22.toISOString() + JSON_STR_QUOTE } else if (value_cause_22 instanceof RegExp) { json += asString(value_cause_22.source) } else { json += asString(value_cause_22.toString()) }
        } else { json += asString(value_cause_22) }
          }
          const value_msg_23 = obj["msg"]
          if (value_msg_23 !== undefined) {
            json += addComma_0 ? ",\"msg\":" : ((addComma_0 = true), "{\"msg\":")
            json += asUnsafeString(value_msg_23)
          }
if (!addComma_0) json += JSON_STR_BEGIN_OBJECT
return json + JSON_STR_END_OBJECT
      }
    const main = anonymous0
    return main
})(null, new Serializer())
