import { CHECK_TYPES, type CheckType, type GateCheck, type GateTrigger } from '../check.js'
import { callingWindow } from './calling-window.js'
import { consent } from './consent.js'
import { dnc } from './dnc.js'
import { dndRegister } from './dnd-register.js'
import { enforcement } from './enforcement.js'
import { frequencyCap } from './frequency-cap.js'
import { numberFormat } from './number-format.js'
import { robocallDeclaration } from './robocall-declaration.js'
import { senderRegistration } from './sender-registration.js'
import { verification } from './verification.js'
import { wallet } from './wallet.js'

/** All checks, in the order in which they decide. The type check asks for a check of each type. */
export const CHECKS: Readonly<Record<CheckType, GateCheck>> = {
  number_format: numberFormat,
  dnc,
  enforcement,
  verification,
  calling_window: callingWindow,
  dnd_register: dndRegister,
  consent,
  frequency_cap: frequencyCap,
  robocall_declaration: robocallDeclaration,
  sender_registration: senderRegistration,
  wallet,
}

/**
 * Checks that a kind of call does not need. A transfer leg rings a person of the organization, who has verified the
 * number; a verification call is how that happens. A forwarded call goes to the telephone system of the organization,
 * under its own number.
 */
export const EXEMPT: Partial<Readonly<Record<GateTrigger, ReadonlySet<CheckType>>>> = {
  transfer: new Set([
    'dnc',
    'verification',
    'calling_window',
    'dnd_register',
    'consent',
    'frequency_cap',
    'robocall_declaration',
    'sender_registration',
    'wallet',
  ]),
  forward: new Set(CHECK_TYPES.filter((type) => type !== 'enforcement')),
  verification: new Set(['calling_window', 'dnd_register', 'consent', 'frequency_cap', 'wallet']),
}
