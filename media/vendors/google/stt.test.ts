import { createVerify } from 'node:crypto'
import t from 'tap'
import { decodeRequest, encodeResponse } from '../../../fixtures/vendors/google-proto.js'
import { serviceAccountKeys } from '../../../fixtures/vendors/service-account.js'
import { AccessTokens } from './access-token.js'
import { audioRequest, readResponse } from './messages.js'
import { decodeMessage, encodeMessage } from './protobuf.js'
import { serviceAccountOf } from './settings.js'
import { GoogleDialect } from './stt.js'

const ACCOUNT = { project: 'p1', email: 'parley@p1.test', keyId: 'k1' }

function dialect(vocabulary: readonly string[], languages: readonly string[]): GoogleDialect {
  const account = { ...ACCOUNT, privateKey: 'none' }
  return new GoogleDialect(
    { baseUrl: 'https://g', location: 'asia-southeast1', account },
    new AccessTokens(account),
    { rate: 16_000, language: 'hi-IN', languages, model: 'chirp_3', vocabulary },
  )
}

t.test('the first request, as the vendor’s own definition reads it', async (t) => {
  const google = dialect(['Anjali', 'Köchi', 'x'.repeat(101)], ['hi-IN', 'en-IN'])
  const [setup = new Uint8Array(0)] = google.utteranceMessages()
  t.match(JSON.parse(JSON.stringify(decodeRequest(setup))), {
    recognizer: 'projects/p1/locations/asia-southeast1/recognizers/_',
    streamingConfig: {
      config: {
        explicitDecodingConfig: { encoding: 'LINEAR16', sampleRateHertz: 16_000, audioChannelCount: 1 },
        model: 'chirp_3',
        languageCodes: ['hi-IN', 'en-IN'],
        features: { enableAutomaticPunctuation: true },
        adaptation: {
          phraseSets: [{ inlinePhraseSet: { phrases: [{ value: 'Anjali' }, { value: 'Köchi' }] } }],
        },
      },
      streamingFeatures: { interimResults: true },
    },
  })
  const bare = decodeRequest(dialect([], ['hi-IN']).utteranceMessages()[0] ?? new Uint8Array(0))
  t.notMatch(JSON.stringify(bare), /adaptation/)
  t.same(decodeRequest(audioRequest(Uint8Array.of(1, 2, 3))).audio, Buffer.of(1, 2, 3))
})

t.test('results of the vendor’s own encoder', async (t) => {
  const bytes = encodeResponse({
    speechEventType: 'SPEECH_ACTIVITY_BEGIN',
    results: [
      {
        alternatives: [
          { transcript: ' नमस्ते ', confidence: 0.9, words: [{ word: 'नमस्ते', confidence: 0.5 }] },
          { transcript: 'other' },
        ],
        isFinal: true,
        stability: 0.9,
        resultEndOffset: { seconds: 3, nanos: 5 },
        languageCode: 'hi-in',
      },
      { alternatives: [{ transcript: 'ji' }] },
      {},
    ],
    metadata: { requestId: 'r1' },
  })
  t.same(readResponse(bytes), [
    { text: 'नमस्ते', isFinal: true, language: 'hi-in' },
    { text: 'ji', isFinal: false, language: '' },
    { text: '', isFinal: false, language: '' },
  ])
  t.same(readResponse(new Uint8Array(0)), [])
  t.throws(() => readResponse(Uint8Array.of(0x32, 0x7f)), RangeError)
  t.throws(() => readResponse(Uint8Array.of(0x33)), RangeError)
})

t.test('numbers of any length and an endless one', async (t) => {
  for (const value of [0, 1, 127, 128, 16_000, 2 ** 31, 2 ** 45]) {
    t.same(decodeMessage(encodeMessage([1, value], [16, 'x'])), [
      [1, value],
      [16, Buffer.from('x')],
    ])
  }
  t.throws(() => decodeMessage(new Uint8Array(20).fill(0xff)), RangeError)
})

t.test('a call ends the utterance when it was asked for, else it is begun again', async (t) => {
  const told: unknown[] = []
  const reader = {
    partial: (text: string) => told.push(['partial', text]),
    final: (text: string) => told.push(['final', text]),
    failed: ({ code, retryable }: { code: string; retryable: boolean }) => told.push([code, retryable]),
  }
  const result = (text: string, isFinal: boolean) => ({ results: [{ text, isFinal, language: '' }] })
  const google = dialect([], ['hi-IN'])
  google.utteranceMessages()
  google.read(result('haan', true), reader)
  google.read(result('ji', false), reader)
  google.flush()
  t.equal(google.busy, true)
  google.read(result('ji', true), reader)
  google.read({ ended: true }, reader)
  t.equal(google.busy, false)
  google.utteranceMessages()
  google.read({ ended: true }, reader)
  t.same(told, [
    ['partial', 'haan'],
    ['partial', 'haan ji'],
    ['partial', 'haan ji'],
    ['final', 'haan ji'],
    ['vendor_failed', true],
  ])
  for (const [status, code, retryable] of [
    [3, 'vendor_rejected', false],
    [7, 'vendor_rejected', false],
    [16, 'vendor_rejected', false],
    [8, 'vendor_rate_limited', true],
    [11, 'vendor_failed', true],
    [14, 'vendor_failed', true],
  ] as const) {
    t.match(google.classify(status, ''), { code, retryable }, `${status}`)
  }
})

t.test('tokens are signed with the key of the account, and renewed before they expire', async (t) => {
  const { privateKey, publicKey } = serviceAccountKeys()
  const tokens = new AccessTokens({ ...ACCOUNT, privateKey })
  const first = tokens.at(1_800_000_000)
  const [head = '', claims = '', signature = ''] = first.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  t.same(read(head), { alg: 'RS256', typ: 'JWT', kid: 'k1' })
  t.same(read(claims), {
    iss: ACCOUNT.email,
    sub: ACCOUNT.email,
    aud: 'https://speech.googleapis.com/',
    iat: 1_800_000_000,
    exp: 1_800_003_600,
  })
  const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`)
  t.ok(verify.verify(publicKey, signature, 'base64url'))
  t.equal(tokens.at(1_800_003_200), first)
  t.not(tokens.at(1_800_003_400), first)
})

t.test('a key file', async (t) => {
  const file = {
    project_id: 'p1',
    client_email: 'parley@p1.test',
    private_key_id: 'k1',
    private_key: '-----BEGIN PRIVATE KEY-----\n',
  }
  t.same(serviceAccountOf(file), { ...ACCOUNT, privateKey: file.private_key })
  t.equal(serviceAccountOf({ ...file, private_key: 'x' }), null)
  t.equal(serviceAccountOf({ ...file, client_email: undefined }), null)
  t.equal(serviceAccountOf({ type: 'authorized_user' }), null)
})
