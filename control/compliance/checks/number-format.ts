import { finding, type GateCheck } from '../check.js'

/** Refuses numbers that are no Indian mobile or landline. */
export const numberFormat: GateCheck = {
  type: 'number_format',
  code: 'validation_error',
  decide(_request, { number }) {
    const { kind, lineType } = number
    return kind === 'subscriber'
      ? finding('pass', 'dialable', 'The number is an Indian number that can be called.', {
          details: { lineType },
        })
      : finding('block', `number_${kind}`, 'The number cannot be called.', { details: { class: kind } })
  },
}
