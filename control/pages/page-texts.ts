import type { Request } from 'express'
import type { Refusal } from '../api/problem.js'
import type { TopupRow } from '../db/tables/payments.js'

/** Languages of the pages that mails and payments lead to. */
export type PageLanguage = 'en' | 'hi'

/** Fields that a form can ask for. */
export type FieldName = 'token' | 'email' | 'name' | 'password'

type PageName = 'verifyEmail' | 'resendVerification' | 'forgotPassword' | 'resetPassword' | 'acceptInvitation'

export interface PageTexts {
  readonly language: PageLanguage
  readonly pages: Readonly<
    Record<PageName, { readonly title: string; readonly button: string; readonly done: string }>
  >
  readonly fields: Readonly<Record<FieldName, string>>
  readonly setPassword: string
  /** Text of the link to the dashboard. */
  readonly signIn: string
  readonly resendHint: string
  readonly forgotHint: string
  readonly resetHint: string
  readonly newMember: string
  readonly confirm: string
  readonly confirmAndSet: string
  readonly setNameAndPassword: string
  signedUp(email: string, organization: string | null): string
  invited(email: string, organization: string, role: string): string
  /** Returns why a request was refused. */
  refused(refusal: Refusal): string
  /** Returns what is wrong with a field. */
  wrong(field: string, reason: string): string
  readonly checkout: {
    readonly title: string
    readonly states: Readonly<Record<TopupRow['status'], string>>
    readonly forWallet: string
    readonly toPay: string
    readonly paid: string
    /** Says that the payment is no money. */
    readonly sandbox: string
    /** Text of the link that loads the page again. */
    readonly again: string
    /** Text of the link to the wallet. */
    readonly back: string
    readonly locale: string
    /** Returns the text of a button, whose English text is `label`. */
    button(value: string, label: string): string
  }
}

/** Returns the texts in the language that the browser prefers. */
export function textsFor(request: Request): PageTexts {
  return request.acceptsLanguages('en', 'hi') === 'hi' ? HINDI : ENGLISH
}

const ENGLISH: PageTexts = {
  language: 'en',
  pages: {
    verifyEmail: {
      title: 'Confirm your address',
      button: 'Confirm',
      done: 'Your address is confirmed. You can sign in now.',
    },
    resendVerification: {
      title: 'Request a new confirmation link',
      button: 'Send',
      done: 'If the address waits for its confirmation, a mail with a new link is on its way.',
    },
    forgotPassword: {
      title: 'Request a new password',
      button: 'Send',
      done: 'If the address has an account, a mail with a link is on its way.',
    },
    resetPassword: {
      title: 'Set a new password',
      button: 'Set the password',
      done: 'Your password is set, and you were signed out everywhere. You can sign in now.',
    },
    acceptInvitation: {
      title: 'Accept the invitation',
      button: 'Accept',
      done: 'You are a member of the organization. You can sign in now.',
    },
  },
  fields: {
    token: 'Code (the part of the link after token=)',
    email: 'Email address',
    name: 'Your name',
    password: 'Password, at least 10 characters',
  },
  setPassword: 'Set the password of your account.',
  signIn: 'Sign in',
  resendHint: 'The link goes to the address that you signed up.',
  forgotHint: 'A link to set a new password goes to your address.',
  resetHint: 'You will be signed out everywhere.',
  newMember: 'A new account needs a name and a password.',
  confirm: 'Confirm that the address is yours.',
  confirmAndSet: 'Confirm that the address is yours and set your password.',
  setNameAndPassword: 'Set the name and the password of your new account.',
  signedUp: (email, organization) =>
    `${email} signed up${organization === null ? '' : ` for ${organization}`}.`,
  invited: (email, organization, role) => `${email} is invited to ${organization} with the role ${role}.`,
  refused: ({ message }) => message,
  wrong: (field, reason) => `${field}: ${reason}.`,
  checkout: {
    title: 'Top up the wallet',
    states: {
      created: 'The payment has not arrived yet. It may take a minute.',
      failed: 'The payment failed. You can try again.',
      expired: 'The time for this payment is over.',
      paid: 'The payment arrived and is in your wallet.',
      partially_refunded: 'A part of the payment was refunded.',
      refunded: 'The payment was refunded.',
      disputed: 'The bank disputes the payment.',
    },
    forWallet: 'For the wallet',
    toPay: 'To pay',
    paid: 'Paid',
    sandbox: 'This is the sandbox for development: no real money moves. Each button plays one outcome.',
    again: 'Look again',
    back: 'Back to the wallet',
    locale: 'en-IN',
    button: (_value, label) => label,
  },
}

const ROLES: Readonly<Record<string, string>> = {
  owner: 'मालिक',
  admin: 'एडमिन',
  developer: 'डेवलपर',
  billing: 'बिलिंग',
  viewer: 'दर्शक',
}

const REFUSALS: Readonly<Record<string, string>> = {
  conflict: 'यह खाता पहले से सदस्य है, या यह पता पहले से इस्तेमाल में है।',
  forbidden: 'फ़ॉर्म किसी दूसरी साइट से भेजा गया। मेल का लिंक फिर से खोलें।',
  invalid_token: 'लिंक मान्य नहीं है या पहले इस्तेमाल हो चुका है। नया लिंक माँगें।',
  not_found: 'पता ग़लत है या उसका समय समाप्त हो गया। नया टॉप-अप शुरू करें।',
  rate_limited: 'बहुत बार कोशिश हुई। थोड़ी देर बाद फिर कोशिश करें।',
  token_expired: 'लिंक का समय समाप्त हो गया। नया लिंक माँगें।',
  validation_error: 'कुछ जानकारी सही नहीं है।',
}

const BUTTONS: Readonly<Record<string, string>> = {
  continue: 'भुगतान के लिए आगे बढ़ें',
  decline: 'अस्वीकार करें',
  pay: 'भुगतान करें',
  refund_half: 'आधा लौटाएँ',
  refund_rest: 'बाक़ी लौटाएँ',
}

const HINDI: PageTexts = {
  language: 'hi',
  pages: {
    verifyEmail: {
      title: 'अपने पते की पुष्टि करें',
      button: 'पुष्टि करें',
      done: 'आपके पते की पुष्टि हो गई। अब आप साइन इन कर सकते हैं।',
    },
    resendVerification: {
      title: 'पुष्टि का नया लिंक माँगें',
      button: 'भेजें',
      done: 'यदि पते की पुष्टि बाक़ी है, तो नए लिंक वाला मेल भेजा जा रहा है।',
    },
    forgotPassword: {
      title: 'नया पासवर्ड माँगें',
      button: 'भेजें',
      done: 'यदि इस पते का खाता है, तो लिंक वाला मेल भेजा जा रहा है।',
    },
    resetPassword: {
      title: 'नया पासवर्ड चुनें',
      button: 'पासवर्ड सहेजें',
      done: 'आपका पासवर्ड सहेजा गया और आप हर जगह से साइन आउट हो गए। अब आप साइन इन कर सकते हैं।',
    },
    acceptInvitation: {
      title: 'निमंत्रण स्वीकार करें',
      button: 'स्वीकार करें',
      done: 'आप संगठन के सदस्य हैं। अब आप साइन इन कर सकते हैं।',
    },
  },
  fields: {
    token: 'कोड (लिंक में token= के बाद का भाग)',
    email: 'ईमेल पता',
    name: 'आपका नाम',
    password: 'पासवर्ड, कम से कम 10 अक्षर',
  },
  setPassword: 'अपने खाते का पासवर्ड चुनें।',
  signIn: 'साइन इन करें',
  resendHint: 'लिंक उस पते पर जाएगा जिससे आपने साइन अप किया।',
  forgotHint: 'नया पासवर्ड चुनने का लिंक आपके पते पर जाएगा।',
  resetHint: 'आप हर जगह से साइन आउट हो जाएँगे।',
  newMember: 'नए खाते के लिए नाम और पासवर्ड चाहिए।',
  confirm: 'पुष्टि करें कि यह पता आपका है।',
  confirmAndSet: 'पुष्टि करें कि यह पता आपका है, और अपना पासवर्ड चुनें।',
  setNameAndPassword: 'अपने नए खाते का नाम और पासवर्ड चुनें।',
  signedUp: (email, organization) =>
    `${email} से ${organization === null ? '' : `${organization} के लिए `}साइन अप किया गया।`,
  invited: (email, organization, role) =>
    `${email} को ${organization} में ${ROLES[role] ?? role} की भूमिका के लिए निमंत्रण मिला है।`,
  // A reason without a text of its own is told in English.
  refused: ({ code, message }) => REFUSALS[code] ?? message,
  wrong: (field) => `${field}: सही नहीं है।`,
  checkout: {
    title: 'वॉलेट में पैसे डालें',
    states: {
      created: 'भुगतान अभी नहीं पहुँचा। इसमें एक मिनट लग सकता है।',
      failed: 'भुगतान विफल हुआ। आप फिर से कोशिश कर सकते हैं।',
      expired: 'इस भुगतान का समय समाप्त हो गया।',
      paid: 'भुगतान पहुँच गया और आपके वॉलेट में है।',
      partially_refunded: 'भुगतान का एक भाग लौटाया गया।',
      refunded: 'भुगतान लौटाया गया।',
      disputed: 'बैंक ने इस भुगतान पर आपत्ति की है।',
    },
    forWallet: 'वॉलेट के लिए',
    toPay: 'देय राशि',
    paid: 'भुगतान की गई राशि',
    sandbox: 'यह डेवलपमेंट का सैंडबॉक्स है: असली पैसे नहीं लगते। हर बटन एक नतीजा दिखाता है।',
    again: 'फिर से देखें',
    back: 'वॉलेट पर वापस जाएँ',
    locale: 'hi-IN',
    button: (value, label) => BUTTONS[value] ?? label,
  },
}
