import type { Intent } from './intents.js'

export type ReplyLanguage = 'en' | 'hi'

/** Values for the placeholders of a reply, taken from the messages alone. */
export interface ReplyFacts {
  /** Name of the agent; `the assistant` when the prompt has none. */
  readonly agent: string
  readonly business: string
  readonly digits: string
  /** The agent has a tool for appointments. Without one the replies offer none. */
  readonly books: boolean
  /** Consecutive utterances of the caller that were not understood. */
  readonly misses: number
}

/** Sentences of a reply, spoken as they arrive; `endsCall` ends the call after them. */
export interface ScriptedReply {
  readonly sentences: readonly string[]
  readonly endsCall?: boolean
}

/** Subject of a reply. `booked` accepts an offered appointment and is answered like `appointment`. */
export type Topic = Intent | 'booked' | 'closing' | 'purpose'

type Answers = Readonly<Record<Exclude<Topic, 'booked'>, (facts: ReplyFacts) => ScriptedReply>>

const say = (...sentences: string[]): ScriptedReply => ({ sentences })
const end = (...sentences: string[]): ScriptedReply => ({ sentences, endsCall: true })
const spaced = (digits: string): string => [...digits].join(' ')

const ENGLISH: Answers = {
  opt_out: () => end(`I am sorry for the trouble.`, `I cannot record your wish on this call.`, `Goodbye.`),
  voicemail: ({ agent, business }) =>
    end(`Hello, this is ${agent} from ${business}.`, `I am sorry that I missed you. Goodbye.`),
  screening: ({ agent, business }) =>
    say(`This is ${agent} from ${business}.`, `I would like to speak with the person whom I called.`),
  person: () =>
    say(
      `I am sorry, I cannot connect you with a person on this call.`,
      `Is there anything else that I can do for you?`,
    ),
  goodbye: ({ business }) => end(`Thank you for your time.`, `Goodbye from ${business}.`),
  wait: () => say(`Of course, take your time.`),
  enough: () => say(`All right, I will keep it short.`, `Is there anything else that I can do for you?`),
  price: ({ books }) =>
    say(
      `A first visit costs five hundred rupees, with the examination.`,
      `A cleaning is twelve hundred rupees.`,
      `You can pay in cash or by card.`,
      books ? `Would you like me to book a visit for you?` : `Is there anything else that I can do for you?`,
    ),
  appointment: () =>
    say(`I am sorry, I cannot book a visit on this call.`, `Is there anything else that I can do for you?`),
  who: ({ agent, business }) => say(`This is ${agent} from ${business}.`, `How can I help you today?`),
  question: () => say(`Yes, please go ahead.`),
  more: ({ business, books }) =>
    say(
      `Gladly.`,
      `${business} has two experienced doctors and a friendly team.`,
      `We are open from nine to seven, Monday to Saturday.`,
      books ? `Shall I book a visit for you?` : `What else would you like to know?`,
    ),
  hours: ({ business }) =>
    say(
      `${business} is open from nine in the morning until seven in the evening, Monday to Saturday.`,
      `Would you like to come by?`,
    ),
  time: () =>
    say(`I am sorry, I cannot book a time on this call.`, `Is there anything else that I can do for you?`),
  digits: ({ digits }) => say(`I heard ${spaced(digits)}.`, `Is that correct?`),
  no: () => say(`That is all right.`, `Is there anything else that I can do for you?`),
  yes: ({ books }) =>
    say(
      `Very good.`,
      books
        ? `Shall I book a visit for you, or do you have a question first?`
        : `What would you like to know?`,
    ),
  thanks: () => say(`You are welcome.`, `Is there anything else that I can do for you?`),
  greeting: ({ agent, business }) =>
    say(`Hello, this is ${agent} from ${business}.`, `How can I help you today?`),
  unclear: ({ misses }) =>
    misses > 1
      ? say(
          `I am sorry, I still did not understand.`,
          `You can ask about prices, opening hours or an appointment.`,
        )
      : say(`I am sorry, I did not catch that.`, `Could you say it once more, please?`),
  closing: ({ business }) => end(`Then I wish you a pleasant day.`, `Goodbye from ${business}.`),
  purpose: ({ books }) =>
    say(
      `Thank you for taking the call.`,
      `I am calling about your next visit.`,
      books ? `Would you like to hear more, or shall I book it right away?` : `Would you like to hear more?`,
    ),
}

const HINDI: Answers = {
  opt_out: () => end(`परेशानी के लिए क्षमा चाहती हूँ।`, `मैं इस कॉल पर यह दर्ज नहीं कर सकती।`, `नमस्ते।`),
  voicemail: ({ agent, business }) =>
    end(`नमस्ते, मैं ${business} से ${agent} बोल रही हूँ।`, `आपसे बात नहीं हो पाई। धन्यवाद।`),
  screening: ({ agent, business }) =>
    say(`मैं ${business} से ${agent} बोल रही हूँ।`, `मैं इस नंबर के मालिक से बात करना चाहती हूँ।`),
  person: () => say(`माफ़ कीजिए, मैं इस कॉल को किसी साथी से नहीं जोड़ सकती।`, `क्या और कुछ मदद चाहिए?`),
  goodbye: ({ business }) => end(`समय देने के लिए धन्यवाद।`, `${business} की ओर से नमस्ते।`),
  wait: () => say(`ज़रूर, आराम से।`),
  enough: () => say(`ठीक है, मैं संक्षेप में बताती हूँ।`, `क्या और कुछ मदद चाहिए?`),
  price: ({ books }) =>
    say(
      `पहली मुलाक़ात पाँच सौ रुपये की है, जाँच उसी में शामिल है।`,
      `सफ़ाई के बारह सौ रुपये लगते हैं।`,
      `आप नकद या कार्ड से भुगतान कर सकते हैं।`,
      books ? `क्या मैं आपके लिए समय बुक कर दूँ?` : `क्या और कुछ मदद चाहिए?`,
    ),
  appointment: () => say(`माफ़ कीजिए, मैं इस कॉल पर समय तय नहीं कर सकती।`, `क्या और कुछ मदद चाहिए?`),
  who: ({ agent, business }) =>
    say(`मैं ${business} से ${agent} बोल रही हूँ।`, `बताइए, मैं आपकी क्या मदद कर सकती हूँ?`),
  question: () => say(`जी, पूछिए।`),
  more: ({ business, books }) =>
    say(
      `ख़ुशी से।`,
      `${business} में दो अनुभवी डॉक्टर हैं।`,
      `हम सोमवार से शनिवार, सुबह नौ से शाम सात बजे तक खुले रहते हैं।`,
      books ? `क्या मैं आपके लिए समय बुक कर दूँ?` : `आप और क्या जानना चाहेंगे?`,
    ),
  hours: ({ business }) =>
    say(`${business} सोमवार से शनिवार, सुबह नौ बजे से शाम सात बजे तक खुला रहता है।`, `क्या आप आना चाहेंगे?`),
  time: () => say(`माफ़ कीजिए, मैं इस कॉल पर समय तय नहीं कर सकती।`, `क्या और कुछ मदद चाहिए?`),
  digits: ({ digits }) => say(`मैंने ${spaced(digits)} सुना।`, `क्या यह सही है?`),
  no: () => say(`कोई बात नहीं।`, `क्या और कुछ मदद चाहिए?`),
  yes: ({ books }) =>
    say(`बहुत अच्छा।`, books ? `क्या मैं समय बुक कर दूँ, या आपको पहले कुछ पूछना है?` : `आप क्या जानना चाहेंगे?`),
  thanks: () => say(`आपका स्वागत है।`, `क्या और कुछ मदद चाहिए?`),
  greeting: ({ agent, business }) =>
    say(`नमस्ते, मैं ${business} से ${agent} बोल रही हूँ।`, `बताइए, मैं आपकी क्या मदद कर सकती हूँ?`),
  unclear: ({ misses }) =>
    misses > 1
      ? say(`माफ़ कीजिए, मैं अब भी नहीं समझ पाई।`, `आप दाम, समय या अपॉइंटमेंट के बारे में पूछ सकते हैं।`)
      : say(`माफ़ कीजिए, मैं सुन नहीं पाई।`, `क्या आप एक बार फिर बोलेंगे?`),
  closing: ({ business }) => end(`तो आपका दिन शुभ हो।`, `${business} की ओर से नमस्ते।`),
  purpose: ({ books }) =>
    say(
      `फ़ोन उठाने के लिए धन्यवाद।`,
      `आपकी अगली मुलाक़ात के बारे में बात करनी थी।`,
      books ? `क्या मैं और बताऊँ, या सीधे समय बुक कर दूँ?` : `क्या मैं और बताऊँ?`,
    ),
}

export const REPLIES: Readonly<Record<ReplyLanguage, Answers>> = { en: ENGLISH, hi: HINDI }

/** Replies around the call of a tool. `optedOut` and `notOptedOut` end the call. */
export const TOOL_REPLIES = {
  en: {
    wait: 'One moment please.',
    connecting: 'One moment, I will try to connect you.',
    answered: 'Our system has answered. Is there anything else that I can do for you?',
    failed: 'I am sorry, that did not work. Is there anything else that I can do for you?',
    optedOut: (business: string) =>
      `I have recorded it. ${business} will not call this number again. Goodbye.`,
    notOptedOut: 'I am sorry, I could not record your wish. Goodbye.',
  },
  hi: {
    wait: 'एक क्षण रुकिए।',
    connecting: 'एक क्षण रुकिए, मैं जोड़ने की कोशिश करती हूँ।',
    answered: 'हमारे सिस्टम से जवाब मिल गया है। क्या और कुछ मदद चाहिए?',
    failed: 'माफ़ कीजिए, यह नहीं हो पाया। क्या और कुछ मदद चाहिए?',
    optedOut: (business: string) => `मैंने दर्ज कर लिया है। ${business} से इस नंबर पर दोबारा फ़ोन नहीं आएगा। नमस्ते।`,
    notOptedOut: 'माफ़ कीजिए, मैं यह दर्ज नहीं कर पाई। नमस्ते।',
  },
} as const satisfies Record<ReplyLanguage, unknown>

/** Words that acknowledge an interruption before the reply. */
export const ACKNOWLEDGEMENT: Readonly<Record<ReplyLanguage, string>> = { en: 'Sure.', hi: 'जी।' }

/** Closing questions of our replies: further wishes, or an offer to book. */
export const ASKED_ANYTHING_ELSE = /anything else|और कुछ मदद/u
export const OFFERED_BOOKING = /book|which of them|बुक|कौन सा ठीक/iu
/** Opening lines after which "yes" asks for the purpose of the call. */
export const ASKED_FOR_CALLER =
  /am i speaking|is this a good time|have a (minute|moment)|क्या मैं .{0,60} से बात/iu
