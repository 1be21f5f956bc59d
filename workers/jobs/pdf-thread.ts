/*
 * The thread that renders documents (a worker of `pdf-jobs.ts`). It answers every message, so that no error
 * stays uncaught.
 */
import { parentPort } from 'node:worker_threads'
import { EngineError, errorText } from '../../media/base/errors.js'
import type { PdfDocument } from './pdf/document.js'
import { renderPdf } from './pdf/render.js'

export type PdfReply =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly tooLong: boolean; readonly message: string }

async function answer(document: PdfDocument): Promise<PdfReply> {
  try {
    return { ok: true, bytes: await renderPdf(document) }
  } catch (error) {
    const tooLong = error instanceof EngineError && error.code === 'overloaded'
    return { ok: false, tooLong, message: errorText(error) }
  }
}

parentPort?.on('message', (document: PdfDocument) => {
  void answer(document).then((reply) => parentPort?.postMessage(reply))
})
