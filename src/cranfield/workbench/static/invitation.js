"use strict";
// The secret of an invitation follows # in the URL, where servers and other sites do not see it. Move it into the form.
const secret = document.getElementById("secret");
const given = location.hash.slice(1) || sessionStorage.getItem("invitation") || "";
if (given) {
  sessionStorage.setItem("invitation", given);
  secret.value = given;
  secret.readOnly = true;
  history.replaceState(null, "", location.pathname);
  document.getElementById("password").focus();
}
