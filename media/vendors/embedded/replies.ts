import type { Intent } from './intents.js'

export type ReplyLanguage = 'en' | 'hi'

/** Values for the placeholders of a reply, taken from the messages alone. */
export interface ReplyFacts {
  /** Name of the agent; `the assistant` when the prompt has none. */
  readonly agent: string
  readonly business: string
  readonly digits: string
  /** Consecutive utterances of the caller that were not understood. */
  readonly misses: number
}

/** Sentences of a reply, spoken as they arrive; `endsCall` ends the call after them. */
export interface ScriptedReply {
  readonly sentences: readonly string[]
  readonly endsCall?: boolean
}

type Answers = Readonly<
  Record<Intent | 'booked' | 'closing' | 'purpose', (facts: ReplyFacts) => ScriptedReply>
>

const say = (...sentences: string[]): ScriptedReply => ({ sentences })
const end = (...sentences: string[]): ScriptedReply => ({ sentences, endsCall: true })
const spaced = (digits: string): string => [...digits].join(' ')

const ENGLISH: Answers = {
  opt_out: ({ business }) =>
    end(`I am sorry for the trouble.`, `${business} will not call this number again.`, `Goodbye.`),
  voicemail: ({ agent, business }) =>
    end(`Hello, this is ${agent} from ${business}.`, `I will call again later. Thank you, and goodbye.`),
  screening: ({ agent, business }) =>
    say(`This is ${agent} from ${business}.`, `I am calling about an appointment that you asked for.`),
  person: () =>
    say(
      `Of course.`,
      `I have noted that you want to speak with a person, and a colleague will call you back today.`,
      `Is there anything else until then?`,
    ),
  goodbye: ({ business }) => end(`Thank you for your time.`, `Goodbye from ${business}.`),
  wait: () => say(`Of course, take your time.`),
  enough: () => say(`All right, I will keep it short.`, `Is there anything else that I can do for you?`),
  price: () =>
    say(
      `A first visit costs five hundred rupees, with the examination.`,
      `A cleaning is twelve hundred rupees.`,
      `You can pay in cash or by card.`,
      `Would you like me to book a visit for you?`,
    ),
  appointment: () =>
    say(
      `Certainly.`,
      `There is a free place tomorrow morning at ten, and another one at half past eleven.`,
      `Which of them would you like?`,
    ),
  who: ({ agent, business }) => say(`This is ${agent} from ${business}.`, `How can I help you today?`),
  question: () => say(`Yes, please go ahead.`),
  more: ({ business }) =>
    say(
      `Gladly.`,
      `${business} has two experienced doctors and a friendly team.`,
      `We are open from nine to seven, Monday to Saturday.`,
      `Shall I book a visit for you?`,
    ),
  hours: ({ business }) =>
    say(
      `${business} is open from nine in the morning until seven in the evening, Monday to Saturday.`,
      `Would you like to come by?`,
    ),
  time: () =>
    say(`That works well.`, `I have put you down for it.`, `Is there anything else that I can do for you?`),
  digits: ({ digits }) => say(`I noted ${spaced(digits)}.`, `Is that correct?`),
  no: () => say(`That is all right.`, `Is there anything else that I can do for you?`),
  yes: () => say(`Very good.`, `Shall I book a visit for you, or do you have a question first?`),
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
  booked: () =>
    say(
      `Your visit is booked for tomorrow at ten.`,
      `You will get a message with the details.`,
      `Is there anything else that I can do for you?`,
    ),
  closing: ({ business }) => end(`Then I wish you a pleasant day.`, `Goodbye from ${business}.`),
  purpose: () =>
    say(
      `Thank you for taking the call.`,
      `I am calling about your next visit, which is due this month.`,
      `Would you like to hear more, or shall I book it right away?`,
    ),
}

const HINDI: Answers = {
  opt_out: ({ business }) =>
    end(`परेशानी के लिए क्षमा चाहती हूँ।`, `${business} से इस नंबर पर दोबारा फ़ोन नहीं आएगा।`, `नमस्ते।`),
  voicemail: ({ agent, business }) =>
    end(`नमस्ते, मैं ${business} से ${agent} बोल रही हूँ।`, `मैं बाद में फिर फ़ोन करूँगी। धन्यवाद।`),
  screening: ({ agent, business }) =>
    say(`मैं ${business} से ${agent} बोल रही हूँ।`, `यह फ़ोन आपके अपॉइंटमेंट के बारे में है।`),
  person: () => say(`ज़रूर।`, `मैंने लिख लिया है, हमारे एक साथी आज ही आपको फ़ोन करेंगे।`, `क्या और कुछ मदद चाहिए?`),
  goodbye: ({ business }) => end(`समय देने के लिए धन्यवाद।`, `${business} की ओर से नमस्ते।`),
  wait: () => say(`ज़रूर, आराम से।`),
  enough: () => say(`ठीक है, मैं संक्षेप में बताती हूँ।`, `क्या और कुछ मदद चाहिए?`),
  price: () =>
    say(
      `पहली मुलाक़ात पाँच सौ रुपये की है, जाँच उसी में शामिल है।`,
      `सफ़ाई के बारह सौ रुपये लगते हैं।`,
      `आप नकद या कार्ड से भुगतान कर सकते हैं।`,
      `क्या मैं आपके लिए समय बुक कर दूँ?`,
    ),
  appointment: () => say(`ज़रूर।`, `कल सुबह दस बजे और साढ़े ग्यारह बजे समय खाली है।`, `आपके लिए कौन सा ठीक रहेगा?`),
  who: ({ agent, business }) =>
    say(`मैं ${business} से ${agent} बोल रही हूँ।`, `बताइए, मैं आपकी क्या मदद कर सकती हूँ?`),
  question: () => say(`जी, पूछिए।`),
  more: ({ business }) =>
    say(
      `ख़ुशी से।`,
      `${business} में दो अनुभवी डॉक्टर हैं।`,
      `हम सोमवार से शनिवार, सुबह नौ से शाम सात बजे तक खुले रहते हैं।`,
      `क्या मैं आपके लिए समय बुक कर दूँ?`,
    ),
  hours: ({ business }) =>
    say(`${business} सोमवार से शनिवार, सुबह नौ बजे से शाम सात बजे तक खुला रहता है।`, `क्या आप आना चाहेंगे?`),
  time: () => say(`यह समय ठीक है।`, `मैंने आपका नाम लिख लिया है।`, `क्या और कुछ मदद चाहिए?`),
  digits: ({ digits }) => say(`मैंने ${spaced(digits)} लिख लिया है।`, `क्या यह सही है?`),
  no: () => say(`कोई बात नहीं।`, `क्या और कुछ मदद चाहिए?`),
  yes: () => say(`बहुत अच्छा।`, `क्या मैं समय बुक कर दूँ, या आपको पहले कुछ पूछना है?`),
  thanks: () => say(`आपका स्वागत है।`, `क्या और कुछ मदद चाहिए?`),
  greeting: ({ agent, business }) =>
    say(`नमस्ते, मैं ${business} से ${agent} बोल रही हूँ।`, `बताइए, मैं आपकी क्या मदद कर सकती हूँ?`),
  unclear: ({ misses }) =>
    misses > 1
      ? say(`माफ़ कीजिए, मैं अब भी नहीं समझ पाई।`, `आप दाम, समय या अपॉइंटमेंट के बारे में पूछ सकते हैं।`)
      : say(`माफ़ कीजिए, मैं सुन नहीं पाई।`, `क्या आप एक बार फिर बोलेंगे?`),
  booked: () => say(`कल सुबह दस बजे का समय बुक हो गया है।`, `आपको एक संदेश मिल जाएगा।`, `क्या और कुछ मदद चाहिए?`),
  closing: ({ business }) => end(`तो आपका दिन शुभ हो।`, `${business} की ओर से नमस्ते।`),
  purpose: () =>
    say(
      `फ़ोन उठाने के लिए धन्यवाद।`,
      `आपकी अगली मुलाक़ात इस महीने होनी है, उसी के बारे में बात करनी थी।`,
      `क्या मैं और बताऊँ, या सीधे समय बुक कर दूँ?`,
    ),
}

export const REPLIES: Readonly<Record<ReplyLanguage, Answers>> = { en: ENGLISH, hi: HINDI }

/** Words that acknowledge an interruption before the reply. */
export const ACKNOWLEDGEMENT: Readonly<Record<ReplyLanguage, string>> = { en: 'Sure.', hi: 'जी।' }

/** Closing questions of our replies: further wishes, or an offer to book. */
export const ASKED_ANYTHING_ELSE = /anything else|और कुछ मदद/u
export const OFFERED_BOOKING = /book|which of them|बुक|कौन सा ठीक/iu
/** Opening lines after which "yes" asks for the purpose of the call. */
export const ASKED_FOR_CALLER = /am i speaking|is this a good time|have a (minute|moment)|क्या मैं .* से बात/iu
