/*
 * The entry file of the thread that runs a speech model; speech-network.ts describes the model.
 */
import { workerData } from 'node:worker_threads'
import { loadOnnx, serveModel } from './onnx.js'
import type { SpeechBatch, SpeechScores, SpeechWindowSizes } from './speech-model-batch.js'
import { SpeechNetwork } from './speech-network.js'

serveModel<SpeechWindowSizes, SpeechBatch, SpeechScores>(async () => {
  const { ort, session } = await loadOnnx(workerData)
  const model = new SpeechNetwork(ort, session)
  return {
    ready: { 8000: model.window(8000), 16000: model.window(16000) },
    answer: async (question) => ({ streams: question.streams, probabilities: await model.judge(question) }),
  }
})
