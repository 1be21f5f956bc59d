import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { EngineError, errorText } from '../../media/base/errors.js'

/** Configuration of sherpa-onnx for one model, as `OnlineRecognizer` or `OfflineRecognizer` take it. */
export interface SherpaModel {
  /** Human-readable name of the kind of model in the folder. */
  readonly kind: string
  /** Gives texts while a person speaks; otherwise after the end of an utterance. */
  readonly streaming: boolean
  readonly files: readonly string[]
  readonly modelConfig: Readonly<Record<string, unknown>>
}

/** A layout of files in which a kind of model is published for sherpa-onnx. */
interface Layout {
  readonly kind: string
  /** Parts of the model: what a file of the part is called. All are needed. */
  readonly parts: Readonly<Record<string, RegExp>>
  /** Distinguishes folders whose files have the same names. */
  readonly folder?: RegExp
  readonly streaming: boolean
  config(part: (name: string) => string): Readonly<Record<string, unknown>>
}

const TOKENS = /(^|-)tokens\.txt$/
const STREAMING = /streaming|chunk|online/i

/*
 * https://k2-fsa.github.io/sherpa/onnx/pretrained_models/index.html. The first layout of which all files are there is
 * taken, so that the ones with more parts come first.
 */
const LAYOUTS: readonly Layout[] = [
  ...[true, false].map((streaming): Layout => {
    const parts = {
      encoder: /encoder.{0,200}\.onnx$/,
      decoder: /decoder.{0,200}\.onnx$/,
      joiner: /joiner.{0,200}\.onnx$/,
      tokens: TOKENS,
    }
    return {
      kind: streaming ? 'streaming transducer' : 'transducer',
      parts,
      ...(streaming ? { folder: STREAMING } : {}),
      streaming,
      config: (part) => ({
        transducer: { encoder: part('encoder'), decoder: part('decoder'), joiner: part('joiner') },
        tokens: part('tokens'),
      }),
    }
  }),
  {
    kind: 'Moonshine',
    parts: {
      preprocessor: /preprocess.{0,200}\.onnx$/,
      encoder: /encode.{0,200}\.onnx$/,
      uncachedDecoder: /uncached_decode.{0,200}\.onnx$/,
      cachedDecoder: /(^|[^n])cached_decode.{0,200}\.onnx$/,
      tokens: TOKENS,
    },
    streaming: false,
    config: (part) => ({
      moonshine: {
        preprocessor: part('preprocessor'),
        encoder: part('encoder'),
        uncachedDecoder: part('uncachedDecoder'),
        cachedDecoder: part('cachedDecoder'),
      },
      tokens: part('tokens'),
    }),
  },
  {
    kind: 'Whisper',
    parts: { encoder: /encoder.{0,200}\.onnx$/, decoder: /decoder.{0,200}\.onnx$/, tokens: TOKENS },
    folder: /whisper|^(tiny|base|small|medium|large|turbo|distil)/i,
    streaming: false,
    config: (part) => ({
      whisper: { encoder: part('encoder'), decoder: part('decoder') },
      tokens: part('tokens'),
    }),
  },
  ctc('streaming zipformer CTC', /zipformer/i, true, (model) => ({ zipformer2Ctc: { model } })),
  ctc('zipformer CTC', /zipformer/i, false, (model) => ({ zipformerCtc: { model } })),
  ctc('SenseVoice', /sense-?voice/i, false, (model) => ({
    senseVoice: { model, useInverseTextNormalization: 1 },
  })),
  ctc('streaming NeMo CTC', /nemo|conformer|ctc/i, true, (model) => ({ nemoCtc: { model } })),
  ctc('NeMo CTC', /nemo|conformer|ctc/i, false, (model) => ({ nemoCtc: { model } })),
]

function ctc(
  kind: string,
  name: RegExp,
  streaming: boolean,
  config: (model: string) => Readonly<Record<string, unknown>>,
): Layout {
  const folder = streaming ? new RegExp(`(?=.*(${STREAMING.source}))(?=.*(${name.source}))`, 'i') : name
  return {
    kind,
    parts: { model: /model.{0,200}\.onnx$/, tokens: TOKENS },
    folder,
    streaming,
    config: (part) => ({ ...config(part('model')), tokens: part('tokens') }),
  }
}

/**
 * Recognises the kind of a model by the names of its folder and files. Throws EngineError `config_invalid` with what is
 * missing.
 */
export function readModelFolder(folder: string): SherpaModel {
  let names: readonly string[]
  try {
    names = readdirSync(folder).sort()
  } catch (error) {
    throw new EngineError('config_invalid', `${folder} cannot be read: ${errorText(error)}`)
  }
  return modelOf(folder, names)
}

/** The same for known names. */
export function modelOf(folder: string, names: readonly string[]): SherpaModel {
  // A file may tell what the name of the folder does not.
  const about = [basename(folder), ...names].join(' ')
  const all = LAYOUTS.map((layout) => {
    const found = Object.entries(layout.parts).map(
      ([part, pattern]) => [part, fileOf(names, pattern)] as const,
    )
    const missing = found.flatMap(([part, file]) => (file === null ? [part] : []))
    return { layout, files: new Map(found), missing, named: layout.folder?.test(about) ?? true }
  })
  const fit = all.find(({ missing, named }) => missing.length === 0 && named)
  if (fit !== undefined) {
    const path = (part: string): string => join(folder, fit.files.get(part) ?? '')
    return {
      kind: fit.layout.kind,
      streaming: fit.layout.streaming,
      files: Object.keys(fit.layout.parts).map(path),
      modelConfig: fit.layout.config(path),
    }
  }
  throw new EngineError('config_invalid', `${folder} holds no model that fits: ${reason(names, all)}`)
}

function reason(
  names: readonly string[],
  all: readonly { layout: Layout; missing: readonly string[]; named: boolean }[],
): string {
  if (!names.some((name) => name.endsWith('.onnx'))) return 'there is no .onnx file in it'
  const complete = all.filter(({ missing }) => missing.length === 0)
  const kinds = [...new Set(complete.map(({ layout }) => layout.kind))].join(', ')
  const named = kinds === '' ? [] : [`the name of the folder must tell which of these it is: ${kinds}`]
  const [nearest] = all.filter(({ missing }) => missing.length > 0).sort(byMissing)
  if (nearest === undefined || (kinds !== '' && nearest.missing.length > 1)) return named.join('; ')
  const parts = nearest.missing.map((part) => `${part} (${nearest.layout.parts[part]?.source})`)
  return [...named, `as ${nearest.layout.kind} it lacks ${parts.join(', ')}`].join('; or ')
}

function byMissing(a: { readonly missing: readonly string[] }, b: typeof a): number {
  return a.missing.length - b.missing.length
}

/** Prefers the quantised file: half the time on a CPU. */
function fileOf(names: readonly string[], pattern: RegExp): string | null {
  const matches = names.filter((name) => pattern.test(name) && !/^uncached/.test(name))
  const exact = matches.length > 0 ? matches : names.filter((name) => pattern.test(name))
  return exact.find((name) => name.includes('int8')) ?? exact[0] ?? null
}
