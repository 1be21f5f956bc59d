import { createRequire } from 'node:module'
import t from 'tap'
import { until } from '../../../fixtures/host/until.js'
import { openFakeVendorSocket } from '../../../fixtures/vendors/fake-vendor-socket.js'
import { AZURE, AZURE_ID } from '../../../fixtures/vendors/recognition-messages.js'

/*
 * Microsoft's SDK against the fake of the suites: it understands the fake's messages, and the fake reads its own. The adapter
 * that passes the suites therefore speaks what the SDK speaks.
 */

interface Result {
  readonly result: { readonly text: string }
}

/** The parts of microsoft-cognitiveservices-speech-sdk that this test uses. */
interface Sdk {
  readonly SpeechConfig: { fromHost(host: URL, key: string): { speechRecognitionLanguage: string } }
  readonly AudioStreamFormat: { getWaveFormatPCM(rate: number, bits: number, channels: number): unknown }
  readonly AudioInputStream: {
    createPushStream(format: unknown): { write(bytes: ArrayBuffer): void; close(): void }
  }
  readonly AudioConfig: { fromStreamInput(stream: unknown): unknown }
  readonly Recognizer: { enableTelemetry(enabled: boolean): void }
  readonly SpeechRecognizer: new (
    config: unknown,
    audio: unknown,
  ) => {
    recognizing: (sender: unknown, event: Result) => void
    recognized: (sender: unknown, event: Result) => void
    startContinuousRecognitionAsync(): void
    close(): void
  }
}

t.test('Microsoft’s SDK hears the fake, and the fake hears the SDK', async (t) => {
  const sdk: Sdk = createRequire(import.meta.url)('microsoft-cognitiveservices-speech-sdk')
  const fake = await openFakeVendorSocket()
  t.teardown(() => fake.close())
  fake.script = {
    binary: (_message, connection) => {
      // The SDK ignores messages of other turns.
      const turn = String(connection.texts[1]?.['X-RequestId'])
      const send = (messages: readonly string[]) => {
        for (const message of messages) connection.send(message.replace(AZURE_ID, turn))
      }
      if (AZURE.flushed(connection)) send(AZURE.final('नमस्ते जी'))
      else if (AZURE.sound(connection).length === 3200) send(AZURE.partial('नमस्ते') ?? [])
    },
  }
  sdk.Recognizer.enableTelemetry(false)
  const config = sdk.SpeechConfig.fromHost(new URL(fake.baseUrl), 'secret-key')
  config.speechRecognitionLanguage = 'hi-IN'
  const stream = sdk.AudioInputStream.createPushStream(sdk.AudioStreamFormat.getWaveFormatPCM(8000, 16, 1))
  const recognizer = new sdk.SpeechRecognizer(config, sdk.AudioConfig.fromStreamInput(stream))
  const partials: string[] = []
  const finals: string[] = []
  recognizer.recognizing = (_sender, { result }) => partials.push(result.text)
  recognizer.recognized = (_sender, { result }) => finals.push(result.text)
  recognizer.startContinuousRecognitionAsync()
  t.teardown(() => recognizer.close())
  stream.write(new ArrayBuffer(1600))
  stream.write(new ArrayBuffer(1600))
  await until(() => partials.length > 0)
  stream.close()
  await until(() => finals.length > 0)
  t.same(partials, ['नमस्ते'])
  t.same(finals, ['नमस्ते जी'])
  t.equal(fake.last.url.pathname, AZURE.path)
  t.match(Object.fromEntries(fake.last.url.searchParams), AZURE.query)
  t.equal(fake.last.headers[AZURE.auth[0]], AZURE.auth[1])
  t.same(
    fake.last.texts.map(({ Path }) => Path),
    ['speech.config', 'speech.context'],
  )
  t.same(fake.last.texts[1]?.phraseDetection, { language: 'hi-IN', enrichment: {} })
})
