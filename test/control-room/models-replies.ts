/** Replies of the model lists with prices and figures, which the simulated models have none of, and a name that tries to be markup. */
import { HOSTILE } from './now-status.ts'

const PARAMETERS = ['max_tokens', 'reasoning', 'stop', 'structured_outputs', 'temperature', 'tool_choice', 'tools', 'top_p']

export const CATALOGUE = {
  data: [
    model('acme/large', 'Acme: Large', ['0.000003', '0.000015'], ['text', 'image']),
    model('globex/small', 'Globex: Small', ['0.00000015', '0.0000006'], ['text']),
    model('hostile/one', HOSTILE, ['-1', '-1'], ['text']),
    { ...model('globex/vectors', 'Globex: Vectors', ['0.00000002', '0'], ['text']), architecture: architecture(['text'], ['embeddings']) },
    ...Array.from({ length: 200 }, (_, index) => model(`many/m${index}`, `Many: ${index}`, ['0', '0'], ['text'])),
  ],
}

function architecture(input: readonly string[], output: readonly string[]): object {
  return { modality: null, input_modalities: input, output_modalities: output, tokenizer: 'Other', instruct_type: null }
}

function model(id: string, name: string, [prompt = '', completion = '']: readonly string[], input: readonly string[]): object {
  return {
    id,
    name,
    created: 1_790_000_000,
    description: '',
    context_length: 200_000,
    architecture: architecture(input, ['text']),
    pricing: { prompt, completion, request: '0', image: '0' },
    top_provider: { max_completion_tokens: 32_000 },
    supported_parameters: PARAMETERS,
  }
}

export const MEASURED = {
  providers: [
    {
      endpoints: [
        { model: 'acme/large', uptime_last_30m: 99.94, latency_ms: { p50: 640, p99: 2100 }, throughput: { p50: 71.2 } },
        { model: 'acme/large', uptime_last_30m: 91, latency_ms: { p50: 310, p99: 4100 }, throughput: { p50: 55 } },
        { model: 'globex/small', uptime_last_30m: 100, latency_ms: { p50: 180, p99: 700 }, throughput: { p50: 164 } },
      ],
    },
  ],
}

export const ENDPOINTS = {
  large: {
    data: {
      id: 'acme/large',
      name: 'Acme: Large',
      description: HOSTILE,
      architecture: architecture(['text'], ['text']),
      endpoints: [endpoint('Acme', 99.97, 640), endpoint(HOSTILE, 91, 310)],
    },
  },
  small: {
    data: {
      id: 'globex/small',
      name: 'Globex: Small',
      description: '',
      architecture: architecture(['text'], ['text']),
      endpoints: [endpoint('Globex', 98.2, 180)],
    },
  },
  vectors: {
    data: {
      id: 'globex/vectors',
      name: 'Globex: Vectors',
      description: '',
      architecture: architecture(['text'], ['embeddings']),
      endpoints: [endpoint('Globex', 98.2, 180)],
    },
  },
}

function endpoint(provider: string, uptime: number, latency: number): object {
  return {
    provider_name: provider,
    tag: provider.toLowerCase(),
    context_length: 200_000,
    max_completion_tokens: 32_000,
    pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
    quantization: 'fp8',
    status: uptime < 95 ? -2 : 0,
    supported_parameters: PARAMETERS,
    uptime_last_5m: uptime,
    uptime_last_30m: uptime,
    uptime_last_1d: uptime,
    latency_last_30m: { p50: latency, p75: latency * 2, p90: latency * 3, p99: latency * 5 },
    throughput_last_30m: { p50: 71.2, p75: 80, p90: 90, p99: 95 },
  }
}
