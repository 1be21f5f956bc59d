import t from 'tap'
import { modelOf, readModelFolder } from './model-folder.js'

const found = (folder: string, ...names: readonly string[]) => modelOf(`/models/${folder}`, [...names].sort())

t.test('the kinds of models, by the names of folder and files', async (t) => {
  const transducer = ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt']
  t.match(found('sherpa-onnx-streaming-zipformer-en', ...transducer), {
    kind: 'streaming transducer',
    streaming: true,
    modelConfig: {
      transducer: {
        encoder: '/models/sherpa-onnx-streaming-zipformer-en/encoder.onnx',
        decoder: '/models/sherpa-onnx-streaming-zipformer-en/decoder.onnx',
        joiner: '/models/sherpa-onnx-streaming-zipformer-en/joiner.onnx',
      },
      tokens: '/models/sherpa-onnx-streaming-zipformer-en/tokens.txt',
    },
  })
  t.match(found('any', 'encoder-epoch-99-avg-1-chunk-16-left-128.onnx', ...transducer.slice(1)), {
    streaming: true,
  })
  t.match(found('sherpa-onnx-zipformer-hi', ...transducer), { kind: 'transducer', streaming: false })
  t.match(found('whisper-base', 'base-encoder.onnx', 'base-decoder.onnx', 'base-tokens.txt'), {
    kind: 'Whisper',
    modelConfig: { whisper: { decoder: '/models/whisper-base/base-decoder.onnx' } },
  })
  const moonshine = [
    'preprocess.onnx',
    'encode.int8.onnx',
    'uncached_decode.int8.onnx',
    'cached_decode.int8.onnx',
  ]
  t.match(found('moonshine-tiny', ...moonshine, 'tokens.txt'), {
    kind: 'Moonshine',
    modelConfig: {
      moonshine: {
        uncachedDecoder: '/models/moonshine-tiny/uncached_decode.int8.onnx',
        cachedDecoder: '/models/moonshine-tiny/cached_decode.int8.onnx',
      },
    },
  })
  for (const [folder, kind] of [
    ['sherpa-onnx-sense-voice-small', 'SenseVoice'],
    ['sherpa-onnx-nemo-ctc-hi', 'NeMo CTC'],
    ['sherpa-onnx-nemo-streaming-fast-conformer-ctc', 'streaming NeMo CTC'],
    ['sherpa-onnx-zipformer-ctc', 'zipformer CTC'],
    ['sherpa-onnx-streaming-zipformer-ctc', 'streaming zipformer CTC'],
  ] as const) {
    t.equal(found(folder, 'model.onnx', 'tokens.txt').kind, kind, folder)
  }
})

t.test('the quantised files are taken when there are both', async (t) => {
  const { files } = found('sherpa-onnx-nemo-ctc', 'model.onnx', 'model.int8.onnx', 'tokens.txt')
  t.same(files, ['/models/sherpa-onnx-nemo-ctc/model.int8.onnx', '/models/sherpa-onnx-nemo-ctc/tokens.txt'])
})

t.test('what does not fit is refused with what is missing', async (t) => {
  const refused = (pattern: RegExp, folder: string, ...names: readonly string[]) =>
    t.throws(() => found(folder, ...names), { code: 'config_invalid', message: pattern })
  refused(/there is no \.onnx file in it/, 'empty', 'README.md')
  refused(
    /must tell .*: Whisper; or as streaming transducer it lacks joiner \(joiner/,
    'zipformer',
    'encoder.onnx',
    'decoder.onnx',
    'tokens.txt',
  )
  refused(/it lacks tokens \(.*tokens/, 'nemo-ctc', 'model.onnx')
  refused(/must tell which of these it is: .*SenseVoice, .*NeMo CTC/, 'mine', 'model.onnx', 'tokens.txt')
  t.throws(() => readModelFolder('/nowhere/at/all'), {
    code: 'config_invalid',
    message: /\/nowhere\/at\/all cannot be read: ENOENT/,
  })
})
