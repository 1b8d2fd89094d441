// A link from a chat brings no cookie along, since the cookie is strict about other sites; this
// page's own request does. Somebody who is signed in goes on without typing the token again.
const form = document.querySelector("form.sign-in");
const next = form.elements.next.value;
const answer = await fetch("/sign-in/state");
if (answer.ok && (await answer.json()).signed_in) location.replace(next);
